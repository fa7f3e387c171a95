"""The events of a service's circuit: when it opened, and when it closed."""

import json
from dataclasses import dataclass
from datetime import datetime

from tests.crash.sql import SqlConnection, instant

EVENTS = "SELECT at, data FROM postino.events WHERE type = '{type}' ORDER BY at"


@dataclass(frozen=True, slots=True)
class Opening:
    """A span of time in which the circuit was open."""

    at: datetime
    until_at: datetime


def read_openings(sql: SqlConnection, service: str) -> list[Opening]:
    events = [(at, json.loads(data)) for at, data in sql.ask(EVENTS.format(type="circuit.opened"))]
    return [Opening(instant(at), instant(data["until_at"])) for at, data in events if data["service"] == service]


def read_closings(sql: SqlConnection, service: str) -> list[datetime]:
    events = sql.ask(EVENTS.format(type="circuit.closed"))
    return [instant(at) for at, data in events if json.loads(data)["service"] == service]
