"""The events of a network's circuit: when it opened, and when it closed."""

import json
from dataclasses import dataclass
from datetime import datetime

from tests.crash.books import Books, instant

EVENTS = "SELECT at, data FROM postino.events WHERE type = '{type}' ORDER BY at"


@dataclass(frozen=True, slots=True)
class Opening:
    """A span of time in which the circuit was open."""

    at: datetime
    until_at: datetime


def read_openings(books: Books, network: str) -> list[Opening]:
    events = [(at, json.loads(data)) for at, data in books.ask(EVENTS.format(type="circuit.opened"))]
    return [Opening(instant(at), instant(data["until_at"])) for at, data in events if data["service"] == network]


def read_closings(books: Books, network: str) -> list[datetime]:
    events = books.ask(EVENTS.format(type="circuit.closed"))
    return [instant(at) for at, data in events if json.loads(data)["service"] == network]
