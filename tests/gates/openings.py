"""What the events tell of a network's circuit: when it was left alone, and when it was well again."""

import json
from dataclasses import dataclass
from datetime import datetime

from tests.crash.books import Books, instant

TOLD = "SELECT at, data FROM postino.events WHERE type = '{type}' ORDER BY at"


@dataclass(frozen=True, slots=True)
class Opening:
    """From one instant to another nobody calls."""

    at: datetime
    until_at: datetime


def openings(books: Books, network: str) -> list[Opening]:
    told = [(at, json.loads(data)) for at, data in books.ask(TOLD.format(type="circuit.opened"))]
    return [Opening(instant(at), instant(data["until_at"])) for at, data in told if data["service"] == network]


def closings(books: Books, network: str) -> list[datetime]:
    told = books.ask(TOLD.format(type="circuit.closed"))
    return [instant(at) for at, data in told if json.loads(data)["service"] == network]
