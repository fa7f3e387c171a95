"""Planted bugs: changes of the source that a simulation must find. They are made while a module is imported, so the
product itself has no switch for them. A change that no longer applies raises an error.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGE = find_spec("postino")  # without importing it
assert PACKAGE is not None
assert PACKAGE.origin is not None
SOURCE = Path(PACKAGE.origin).parent


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A bug: which text of which file it replaces, and what it breaks."""

    name: str
    breaks: str
    file: str  # relative to the package
    old: str
    new: str

    def apply(self, text: str) -> str:
        if text.count(self.old) != 1:
            raise LookupError(
                f"The planted bug {self.name!r} does not apply: its text occurs {text.count(self.old)} times"
                f" in {self.file}."
            )
        return text.replace(self.old, self.new)

    def check(self) -> None:
        """Raise LookupError if the bug cannot be planted any more."""
        self.apply((SOURCE / self.file).read_text(encoding="utf-8"))


class _BuggyLoader(Loader):
    def __init__(self, bug: PlantedBug) -> None:
        self.bug = bug

    def exec_module(self, module: ModuleType) -> None:
        path = SOURCE / self.bug.file
        text = self.bug.apply(path.read_text(encoding="utf-8"))
        exec(compile(text, str(path), "exec"), module.__dict__)


class _BuggyFinder(MetaPathFinder):
    """Finds one module, with its bug."""

    def __init__(self, bug: PlantedBug) -> None:
        self.bug = bug
        self.module = "postino." + bug.file.removesuffix(".py").replace("/", ".")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == self.module else None
        if spec is not None:
            spec.loader = _BuggyLoader(self.bug)
        return spec


def plant(bug: PlantedBug) -> None:
    """Break Postino in this process, before it is imported. SQL files are changed when they are loaded."""
    bug.check()
    if bug.file.endswith(".sql"):
        _plant_in_sql(bug)
        return
    loaded = [name for name in sys.modules if name == _BuggyFinder(bug).module]
    if loaded:
        raise RuntimeError(f"{loaded[0]} is imported already: the planted bug would have no effect.")
    sys.meta_path.insert(0, _BuggyFinder(bug))


def _plant_in_sql(bug: PlantedBug) -> None:
    read = Path.read_text
    broken = SOURCE / bug.file

    def read_broken(path: Path, *args: str, **kwargs: str) -> str:
        text = read(path, *args, **kwargs)
        return bug.apply(text) if path == broken else text

    Path.read_text = read_broken  # type: ignore[method-assign, assignment]
