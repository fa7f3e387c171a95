"""`make setup` and `make up` install pinned versions, and only files whose hashes the project knows."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from scripts.pin import FILES, find_closure, read_versions

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"([\w.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def read_pins(file: str) -> dict[str, str]:
    """Return the version of each package in a file that holds nothing but pins with hashes."""
    header, _, pins = (ROOT / "requirements" / file).read_text().partition("\n")
    assert header.startswith("#")
    assert "".join(match[0] for match in PIN.finditer(pins)) == pins
    return {match[1]: match[2] for match in PIN.finditer(pins)}


@pytest.mark.parametrize("file", FILES)
def test_pins_have_hashes_and_the_versions_of_the_constraints(file: str) -> None:
    """If this fails, run `.venv/bin/python scripts/pin.py`."""
    versions, pins = read_versions(ROOT / "constraints.txt"), read_pins(file)
    assert pins == {name: versions[name] for name in pins}
    if file in ("run.txt", "dev.txt"):
        assert pins.keys() == find_closure(FILES[file])


def test_every_constraint_is_pinned_somewhere() -> None:
    assert read_versions(ROOT / "constraints.txt").keys() == set().union(*map(read_pins, FILES))


def test_installed_packages_have_the_pinned_versions() -> None:
    installed: dict[str, str] = {canonicalize_name(one.name): one.version for one in distributions()}
    pins = read_pins("dev.txt")
    assert {name: installed.get(name) for name in pins} == pins


def test_users_get_no_development_tools() -> None:
    tools = {"pytest", "mypy", "ruff", "hypothesis", "hatchling", "schemathesis", "import-linter", "psycopg"}
    assert not tools & read_pins("run.txt").keys()
    assert tools <= read_pins("dev.txt").keys()


def test_another_file_of_a_pinned_version_is_refused(tmp_path: Path) -> None:
    """The name and the version are right, and the content is not that of the release."""
    pins = (ROOT / "requirements" / "build.txt").read_text()
    name, version, _ = next(match.groups() for match in PIN.finditer(pins) if match[1] == "editables")
    (tmp_path / f"{name}-{version}-py3-none-any.whl").write_bytes(b"PK\5\6" + bytes(18))
    command = [sys.executable, "-m", "pip", "download", "--require-hashes", "--no-index", "--no-deps", "--quiet"]
    pin = tmp_path / "pin.txt"
    pin.write_text(next(match[0] for match in PIN.finditer(pins) if match[1] == name))
    refused = subprocess.run(
        [*command, "--find-links", str(tmp_path), "--dest", str(tmp_path / "out"), "-r", str(pin)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert refused.returncode
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in refused.stderr


def test_setup_checks_hashes() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text()
    installs = re.findall(r"^ +(?:PYTHONPATH=\S+ )?install (.*)$", script, re.MULTILINE)
    assert len(installs) == 3
    for options in installs:
        assert "--require-hashes" in options or "--no-deps --no-build-isolation --editable ." in options
