"""`postino` runs no module of the current directory: anybody may have put it there. Only `--app` searches it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.processes import DEADLINE, make_environment

LOAD_ALL = "import sys, postino.cli, postino.api.server, postino.api.http_server, postino.wiring, rich.console, uvloop"
SCRIPT = [str(Path(sys.executable).with_name("postino"))]
MODULE = [sys.executable, "-m", "postino"]


def list_modules() -> set[str]:
    """Return the name of every module that a server loads, and of those that a package tries to load if present."""
    command = [sys.executable, "-c", f"{LOAD_ALL}; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.split()
    names = {name.partition(".")[0] for name in loaded} | {"dotenv", "watchfiles", "psycopg", "orjson"}
    return {name for name in names if name.isidentifier() and not name.startswith("_")} - {"postino"}


def list_interpreter_modules(folder: Path) -> set[str]:
    """Return the modules that `python -m` itself searches in the current directory, before any module of Postino."""
    (folder / "probe.py").write_text("import sys; print(*sys.modules)")
    command = [sys.executable, "-m", "probe"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    return {name.partition(".")[0] for name in loaded.split()}


@pytest.fixture
def planted(tmp_path: Path, start: list[str]) -> Path:
    """Return a directory with a module for each that Postino loads; each writes its name into a file."""
    folder = tmp_path / "planted"
    folder.mkdir()
    kept = list_interpreter_modules(tmp_path) if start is MODULE else set()
    for name in list_modules() - kept:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write({f'{name} '!r})\n")
    return folder


@pytest.mark.parametrize("start", [SCRIPT, MODULE])
def test_modules_of_the_current_directory_do_not_run(start: list[str], planted: Path, tmp_path: Path) -> None:
    command = [*start, "up", "--port", "0", "--json", "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(
        command, cwd=planted, env=make_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert not (planted / "ran").exists(), (planted / "ran").read_text()
            assert json.loads(line)["url"]
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=DEADLINE)
    assert not (planted / "ran").exists(), (planted / "ran").read_text()


def test_app_option_searches_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("raise RuntimeError('the module runs')\n")
    command = [sys.executable, "-m", "postino", "worker", "--data-dir", str(tmp_path / "data"), "--app"]
    shown = subprocess.run([*command, "shop:app"], cwd=tmp_path, capture_output=True, text=True, check=False).stderr
    assert "the module runs" in shown
    shown = subprocess.run([*command, "store:app"], cwd=tmp_path, capture_output=True, text=True, check=False).stderr
    assert "module store does not exist" in shown
