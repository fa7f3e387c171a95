"""From `module:attribute` to what is there, with a sentence for each way in which it may not be."""

import importlib
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from postino.errors import ConfigError, PostinoError

LIBRARY_PATHS = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib")), str(Path(__file__).parent), "<")

Refusal = Callable[[str], PostinoError]


def split_target(target: str, example: str, wrong: Refusal) -> tuple[str, str]:
    """The module's name and the attribute's."""
    module_name, colon, path = target.partition(":")
    if not module_name or not colon or not path:
        raise wrong(f"{target!r} is not of the form module:attr, for example {example}.")
    if module_name.endswith(".py"):
        name = module_name.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise wrong(f"{target!r} names a file; name the module, without .py: {name}:{path}.")
    return module_name, path


def import_target(name: str, wrong: Refusal, folder: str, *, first: bool) -> ModuleType:
    """Looked for in the folder, too: before or after everywhere else."""
    if folder not in sys.path:
        sys.path.insert(0 if first else len(sys.path), folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise wrong(f"there is no module {error.name}. Looked in {folder} and in Python's own path.") from None
        raise _make_import_error(name, error, wrong) from error
    except ConfigError:
        raise  # its own settings are wrong, and it says which
    except Exception as error:
        raise _make_import_error(name, error, wrong) from error


def _make_import_error(name: str, error: Exception, wrong: Refusal) -> PostinoError:
    said = f"{type(error).__qualname__}: {error.msg if isinstance(error, SyntaxError) else error}".rstrip(".")
    return wrong(f"importing {name} failed at {_locate_error(error)}: {said}.")


def _locate_error(error: Exception) -> str:
    """Where in their own code: the libraries that it calls are seldom to blame."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(LIBRARY_PATHS)]
    where = (theirs or frames)[-1]
    return f"{where.filename} line {where.lineno}"


def get_attribute(module: ModuleType, path: str, wrong: Refusal, hint: str) -> object:
    found: object = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise wrong(f"{module.__name__} has no {path}.{hint}")
        found = getattr(found, name)
    return found
