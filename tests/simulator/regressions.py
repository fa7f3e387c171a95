"""Lives that once failed, each as a file that replays it. `make test` expects that none of them fails again."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.simulator.life import run_script
from tests.simulator.script import Script
from tests.simulator.shrink import ShrunkLife

FOLDER = Path(__file__).parent / "regressions"


def save(shrinking: ShrunkLife, folder: Path, planted: str | None) -> Path:
    """Write a failing life into the list of regressions, with the bug that was planted, and return its file."""
    words = re.sub(r"\W+", "-", f"{planted or shrinking.failure.kind} {shrinking.script.seed}").strip("-").lower()
    file = folder / f"{words}.json"
    folder.mkdir(exist_ok=True)
    notes = {"failure": shrinking.result.failures[0].splitlines()[0]}
    if planted is not None:
        notes["planted"] = planted
    file.write_text(shrinking.script.to_json(notes), encoding="utf-8")
    return file


def load(file: Path) -> Script:
    return Script.from_json(file.read_text(encoding="utf-8"))


def list_files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def replay_all() -> dict[str, str]:
    """Replay all saved lives. Return what fails, by the name of the file."""
    lives = {file.name: run_script(load(file)) for file in list_files()}
    return {name: life.failures[0] for name, life in lives.items() if life.failures}


def print_replay() -> int:
    print(json.dumps(replay_all()))
    return 0
