"""What docs/api.md says of the clients is so, and what it shows works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from postino.client import TIMEOUT, Client, NotAllowed, Patience, Unanswered, refusals
from postino.client.ways import Room
from tests.api.household import Up
from tests.client.test_every_method import every_method
from tests.documents import ROOT, Block, blocks, code, codes, prose, table

PAGE = ROOT / "docs" / "api.md"
SHOWN = blocks(PAGE, "python")
URL, DATA_DIR = "http://127.0.0.1:8700", "~/.local/share/postino"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with Up(tmp_path_factory.mktemp("up") / "data") as up:
        yield up


@pytest.mark.slow
@pytest.mark.parametrize("block", SHOWN, ids=["waiting", "awaiting"])
def test_what_is_shown_works(block: Block, up: Up, tmp_path: Path) -> None:
    file = tmp_path / "shown.py"
    assert URL in block.text
    assert DATA_DIR in block.text
    file.write_text(block.text.replace(URL, up.told["url"]).replace(DATA_DIR, str(up.folder)))
    surroundings = {name: text for name, text in os.environ.items() if not name.startswith("POSTINO_")}
    done = subprocess.run(
        [sys.executable, str(file)], env=surroundings, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()


def test_every_method_is_told_and_no_other() -> None:
    rows = table(PAGE, "room", "methods")
    told = {
        name if row["room"] == "the client itself" else f"{code(row['room'])}.{name}"
        for row in rows
        for name in codes(row["methods"])
    }
    assert told == every_method()
    rooms = {name for name, it in vars(Client("http://127.0.0.1:1")).items() if isinstance(it, Room)}
    assert {code(row["room"]) for row in rows if row["room"] != "the client itself"} == rooms


def test_how_patient_the_clients_are_and_what_they_raise() -> None:
    assert (TIMEOUT, Patience().tries, Patience().longest) == (timedelta(seconds=30), 4, timedelta(seconds=20))
    raised = {kind.__name__ for kind in (*refusals.KINDS.values(), NotAllowed, Unanswered)}
    assert raised | {"WrongUse", "PostinoError"} <= set(codes(prose(PAGE)))
