"""Tells what the processes of a simulation send, and which of their calls fail."""

import random
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from postino.errors import StoreUnreachable
from postino.stores.memory import MemoryDriver
from postino.stores.statement import Operation
from postino.testing.simulation.database import SimulatedConnection
from postino.testing.simulation.http import Server, SimulatedHttp, SimulatedHttpFactory
from postino.testing.simulation.loop import process_name
from postino.values.provider import Answer, Body, LostResponse, NotSent

T = TypeVar("T")
MARK = re.compile(r"\bpost \d+( edit \d+)?", re.IGNORECASE)
Tell = Callable[[str], None]
LONG = 24  # characters of a part of a path


class NarratedConnection(SimulatedConnection):
    """Tells of each transaction whose connection breaks."""

    def __init__(
        self,
        database: MemoryDriver,
        chance: random.Random,
        rates: Mapping[str, float],
        is_away: Callable[[], bool],
        tell: Tell,
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(database, chance, rates, is_away, is_full)
        self.tell = tell

    async def run(self, operation: Operation[T]) -> T:
        name = operation.gi_code.co_name  # type: ignore[attr-defined]
        try:
            return await super().run(operation)
        except StoreUnreachable as error:
            if not self.is_away():
                when = "after" if "after" in str(error) else "before"
                self.tell(f"{find_process()} loses its database connection {when} “{name.replace('_', ' ')}”")
            raise


class NarratedHttpFactory(SimulatedHttpFactory):
    """Makes HTTP clients that tell of each request and its response."""

    def __init__(self, server: Server, chance: random.Random, rates: Mapping[str, float], tell: Tell) -> None:
        super().__init__(server, chance, rates)
        self.tell = tell

    def open(
        self,
        *,
        timeout: timedelta,
        may_send: Callable[[], str | None],
        on_progress: Callable[[], str | None] = lambda: None,
        visible: bool,
        secrets: Any,
        public: bool,
    ) -> "NarratedHttp":
        return NarratedHttp(self, timeout.total_seconds(), may_send, visible, self.tell)


class NarratedHttp(SimulatedHttp):
    def __init__(
        self,
        factory: SimulatedHttpFactory,
        seconds: float,
        may_send: Callable[[], str | None],
        visible: bool,
        tell: Tell,
    ) -> None:
        super().__init__(factory, seconds, may_send, visible)
        self.tell = tell

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: Body | None = None,
        timeout: float | None = None,
        inert: bool = False,
    ) -> Answer:
        sender = find_process()
        request = f"{method} {shorten_path(urlsplit(url).path)}"
        sent = body if isinstance(body, bytes) else b"".join(body or ())
        if match := MARK.search(f"{json} {form} {sent.decode(errors='replace')}"):
            self.tell(f"{sender} sends “{match[0]}”: {request}")
        try:
            answer = await super().request(
                method, url, headers=headers, params=params, json=json, form=form, body=body, timeout=timeout,
                inert=inert,
            )  # fmt: skip
        except NotSent as error:
            self.tell(f"{sender} has not sent {request}: {error}")
            raise
        except LostResponse:
            self.tell(f"{sender} gets no readable response to {request}")
            raise
        self.tell(f"{sender} gets {answer.status} for {request}")
        return answer


def find_process() -> str:
    """Return the name of the process that runs."""
    return process_name.get() or "people's server"


def shorten_path(path: str) -> str:
    """Return a path without long ids and tokens."""
    return "/".join("…" if len(part) >= LONG and any(map(str.isdigit, part)) else part for part in path.split("/"))


def collapse(story: list[tuple[datetime, str]]) -> list[str]:
    """Return the lines of a story up to its first failure; the same sentence again and again is one line."""
    lines: list[str] = []
    before, repeats = "", 0
    for at, sentence in story:
        repeats = repeats + 1 if sentence == before else 0
        if repeats:
            lines.pop()
        again = f" ({repeats + 1} times)" if repeats else ""
        lines.append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03}  {sentence}{again}")
        before = sentence
        if sentence.startswith("BROKEN"):
            break
    return lines
