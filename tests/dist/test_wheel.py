"""The wheel works where nothing else is: installed into an empty environment, it publishes a post to the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import postino
from tests.documents import ROOT


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=ROOT)
    return folder


def run(*command: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POSTINO"))}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_archives_contain_the_package_and_its_data_files(dist: Path) -> None:
    [wheel], [source] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert wheel.name == f"postino-{postino.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", "src/postino", cwd=ROOT).splitlines()
    assert {name.removeprefix("src/") for name in tracked} <= names
    with tarfile.open(source) as archive:
        assert any(name.endswith("/README.md") for name in archive.getnames())


@pytest.mark.slow
@pytest.mark.timeout(300)  # pip installs every dependency
def test_the_wheel_installed_alone_publishes_a_sandbox_post(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    binaries, [wheel] = tmp_path / "venv" / "bin", dist.glob("*.whl")
    constraints = str(ROOT / "constraints.txt")
    run(str(binaries / "python"), "-m", "pip", "install", "-qq", "-c", constraints, str(wheel), cwd=tmp_path)
    command = [str(binaries / "postino"), "up", "--data-dir", "data", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as up:
        assert up.stdout is not None
        try:
            ready = json.loads(up.stdout.readline())
            publish = ("post", "Hello from the wheel", "--to", "bluesky", "--wait", "--json", "--data-dir", "data")
            posted = run(str(binaries / "postino"), *publish, cwd=tmp_path)
            assert '"published"' in posted
            assert ready["url"].startswith("http://127.0.0.1:")
        finally:
            up.terminate()
