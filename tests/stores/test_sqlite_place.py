"""The machine in the place of an SQLite database."""

import json
from pathlib import Path

import pytest

from postino.stores import sqlite_place


def test_place_names_the_machine_and_its_hardware_if_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, product, file = (tmp_path / name for name in ("machine-id", "product_uuid", "postino.db"))
    machine.write_text("m1\n")
    file.touch()
    monkeypatch.setattr(sqlite_place, "MACHINE", machine)
    monkeypatch.setattr(sqlite_place, "PRODUCT", product)
    assert json.loads(sqlite_place.locate_file(file))[1] == "m1"
    product.write_text("board\n")
    assert json.loads(sqlite_place.locate_file(file))[1] == "m1/board"
