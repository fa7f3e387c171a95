"""`postino audit`: who did what, and whether anybody has changed it since."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from tests.adoption import adopt_database
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.contract.databases import SqliteDatabase


def start_first_worker(folder: Path) -> None:
    """Do what the first worker on a database does."""
    LocalQueue(folder).perform(lambda app: adopt_database(app.store, uuid4().hex, uuid4().hex))


def add_keys(postino: Postino, *names: str) -> None:
    for name in names:
        assert postino("keys", "add", name, "--role", "viewer", "--reason", f"for {name}").code == 0


def test_entries_are_listed_newest_first(postino: Postino, folder: Path) -> None:
    add_keys(postino, "one", "two", "three")
    table = postino("audit", "list").out
    assert [line.split()[0] for line in table.splitlines()] == ["SEQ", "3", "2", "1"]
    assert "api_key.added" in table
    listed = postino("audit", "list", "--limit", "2", "--json").json["data"]
    assert [(entry["seq"], entry["reason"]) for entry in listed] == [(3, "for three"), (2, "for two")]


def test_intact_trail_is_verified_and_its_last_entry_printed(postino: Postino, folder: Path) -> None:
    postino("keys", "list")
    start_first_worker(folder)
    add_keys(postino, "one", "two")
    report = postino("audit", "verify", "--json")
    assert (report.code, report.json["verified"], report.json["entries"]) == (0, True, 2)
    assert report.json["anchor"] == {"seq": 2, "hash": report.json["head"]}
    verified = postino("audit", "verify")
    assert (verified.code, verified.out.count(report.json["head"])) == (0, 2)


def test_cut_and_changed_trails_are_reported_with_exit_code_1(postino: Postino, folder: Path) -> None:
    postino("keys", "list")
    start_first_worker(folder)
    add_keys(postino, "one", "two", "three")
    database = SqliteDatabase(folder / "postino.db")
    database.sql("DELETE FROM {audit} WHERE seq = 3")
    cut = postino("audit", "verify")
    assert (cut.code, "this machine remembers entry 3" in cut.out) == (1, True), cut
    database.sql("UPDATE {audit} SET actor = 'nobody' WHERE seq = 1")
    changed = postino("audit", "verify", "--json")
    assert (changed.code, changed.json["first_broken_entry"]) == (1, 1)
