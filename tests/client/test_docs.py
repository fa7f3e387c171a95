"""What docs/api.md says of the clients is so; what it shows is run by tests/docs."""

from __future__ import annotations

from datetime import timedelta

from postino.client import TIMEOUT, Client, NotAllowed, Patience, Unanswered, refusals
from postino.client.ways import Room
from tests.client.test_every_method import every_method
from tests.documents import ROOT, code, codes, prose, table

PAGE = ROOT / "docs" / "api.md"


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
