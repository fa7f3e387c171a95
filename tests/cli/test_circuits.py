"""`postino circuits`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal


def test_circuit_is_opened_listed_closed_and_reset(local_queue: LocalQueue, postino: Postino) -> None:
    assert postino("circuits", "list").rows == ["SERVICE  STATE  SINCE_AT  UNTIL_AT  FAILURES  TRIPS  BY  REASON"]
    opened = postino("circuits", "open", "instagram", "--reason", "maintenance", "--for", "10m")
    assert opened.code == 0
    assert opened.out.startswith("The circuit of instagram is open until 20")
    assert "circuits close instagram" in opened.err
    assert local_queue.last_audit()[1:] == ("circuit.opened", "circuit:instagram", "maintenance")
    [row] = postino("circuits", "list").rows[1:]
    assert row.split()[:2] == ["instagram", "open"]
    assert row.split()[-2:] == ["hand", "maintenance"]
    closed = postino("circuits", "close", "instagram", "--reason", "over")
    assert closed.out == "The circuit of instagram is closed: requests resume at once.\n"
    assert postino("circuits", "list", "--json").json["data"][0]["state"] == "closed"
    reset = postino("circuits", "reset", "instagram", "--reason", "new", "--json")
    assert (reset.code, reset.json["service"], reset.json["failures"], reset.json["trips"]) == (0, "instagram", 0, 0)


@pytest.mark.parametrize(
    ("more", "until"),
    [
        ([], None),
        (["--until", "2040-01-01T10:00", "--timezone", "Europe/Rome"], "2040-01-01T09:00:00.000000Z"),
        (["--until", "2040-01-01T10:00Z"], "2040-01-01T10:00:00.000000Z"),
    ],
)
def test_circuit_stays_open_until_time_or_close(
    more: list[str], until: str | None, local_queue: LocalQueue, postino: Postino
) -> None:
    opened = postino("circuits", "open", "openai", "--reason", "x", *more, "--json")
    assert (opened.json["state"], opened.json["until_at"], opened.json["manual"]) == ("open", until, True)


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (["open", "instagrm", "--reason", "x"], 2, "service"),
        (["open", "instagram"], 2, "reason"),
        (["open", "instagram", "--reason", "x", "--for", "soon"], 2, "for"),
        (["open", "instagram", "--reason", "x", "--for", "0s"], 2, "seconds"),
        (["open", "instagram", "--reason", "x", "--for", "-5m"], 2, "for"),
        (["open", "instagram", "--reason", "x", "--until", "2020-01-01T00:00Z"], 2, "until"),
        (["open", "instagram", "--reason", "x", "--until", "2040-01-01T00:00"], 2, "timezone"),
        (["open", "instagram", "--reason", "x", "--until", "2040-01-01T00:00Z", "--for", "1h"], 2, "until"),
        (["close", "instagram"], 2, "reason"),
        (["close", "instagram", "--reason", "x"], 3, None),
        (["reset", "instagram", "--reason", "x"], 3, None),
    ],
)
def test_errors_name_fields_and_nothing_changes(
    words: list[str], code: int, field: str | None, local_queue: LocalQueue, postino: Postino
) -> None:
    refused = postino("circuits", *words, "--json")
    assert (refused.code, refused.error["field"]) == (code, field), refused
    assert postino("circuits", "list", "--json").json["data"] == []


@pytest.mark.slow
def test_terminal_shows_table_or_empty_message(local_queue: LocalQueue, folder: Path, postino: Postino) -> None:
    surroundings = {**os.environ, "POSTINO_DATA_DIR": str(folder)}
    assert "No service has ever failed." in run_in_terminal("circuits", "list", **surroundings)
    postino("circuits", "open", "instagram", "--reason", "maintenance")
    shown = run_in_terminal("circuits", "list", **surroundings)
    assert "maintenance" in shown
    assert "UNTIL_AT" not in shown, "what holds nothing is not drawn"
