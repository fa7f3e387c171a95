"""Server-Sent Events out of bytes, and how far has been heard: who comes back goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from postino.client.job_shapes import Event
from postino.client.messages import Answer, Lost, Request
from postino.client.refusals import Unanswered
from postino.client.retrying import Patience, pause

ENDED = Lost("the connection ended")
MOST_BYTES = 4_000_000  # of one event


@dataclass
class Hearing:
    """One listener's place: a connection that ends is a reason to come back, an answer that refuses is not."""

    request: Request[Any]
    failures: int = 0  # in a row
    ended: Answer | Lost = ENDED
    unread: bytes = b""

    def hear(self, said: bytes | Answer | Lost) -> Iterator[Event]:
        if not isinstance(said, bytes):
            self.ended, self.unread = said, b""
            return
        self.failures = 0
        *frames, self.unread = (self.unread + said).split(b"\n\n")
        if len(self.unread) > MOST_BYTES:
            raise Unanswered(f"An event has more than {MOST_BYTES} bytes. Is it Postino?")
        for frame in frames:
            fields = fields_of(frame)
            if "id" in fields:
                self.request = replace(self.request, after=fields["id"])
            if (event := event_in(fields)) is not None:
                yield event

    def pause(self, patience: Patience, jitter: float, now: datetime) -> timedelta | None:
        """How long until the next connection; None: none of so many in a row brought anything."""
        self.failures += 1
        return pause(self.request, self.ended, self.failures, patience, jitter, now)


def fields_of(frame: bytes) -> dict[str, str]:
    lines = [line.partition(": ") for line in frame.decode(errors="replace").split("\n")]
    return {name: text for name, _, text in lines}


def event_in(fields: Mapping[str, str]) -> Event | None:
    """A farewell has no id, and a place or a sign of life no data: they are for this side only."""
    if "id" not in fields or "data" not in fields:
        return None
    try:
        told = json.loads(fields["data"])
        return Event(
            id=fields["id"],
            type=told["type"],
            at=told["at"],
            job_id=told["job_id"],
            brand=told["brand"],
            data=told["data"],
        )
    except (ValueError, KeyError, TypeError):
        raise Unanswered("An event came that cannot be read. Is it Postino?") from None
