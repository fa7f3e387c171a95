"""Parse Server-Sent Events and remember the last event id, so that a new connection resumes there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from postino.client.errors import ApiUnavailable
from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.client.retry import RetryOptions, retry_delay
from postino.client.types.events import EventView

ENDED = NoResponse("the connection ended")
MAX_EVENT_BYTES = 4_000_000


@dataclass
class EventReader:
    """The position of one subscriber. It reconnects when a connection ends, but not after an error response."""

    request: ApiRequest[Any]
    failures: int = 0  # consecutive connections without data
    ended: ApiResponse | NoResponse = ENDED
    buffer: bytes = b""

    def read(self, chunk: bytes | ApiResponse | NoResponse) -> Iterator[EventView]:
        """Yield the events that `chunk` completes."""
        if not isinstance(chunk, bytes):
            self.ended, self.buffer = chunk, b""
            return
        self.failures = 0
        *frames, self.buffer = (self.buffer + chunk).split(b"\n\n")
        if len(self.buffer) > MAX_EVENT_BYTES:
            raise ApiUnavailable(f"An event is longer than {MAX_EVENT_BYTES} bytes. Is the server Postino?")
        for frame in frames:
            fields = parse_fields(frame)
            if "id" in fields:
                self.request = replace(self.request, last_event_id=fields["id"])
            if (event := parse_event(fields)) is not None:
                yield event

    def retry_delay(self, options: RetryOptions, jitter: float, now: datetime) -> timedelta | None:
        """Return the delay before the next connection, or None if too many in a row brought no data."""
        self.failures += 1
        return retry_delay(self.request, self.ended, self.failures, options, jitter, now)


def parse_fields(frame: bytes) -> dict[str, str]:
    lines = [line.partition(": ") for line in frame.decode(errors="replace").split("\n")]
    return {name: text for name, _, text in lines}


def parse_event(fields: Mapping[str, str]) -> EventView | None:
    """Return None for frames that carry no event: heartbeats, positions and the server's shutdown notice."""
    if "id" not in fields or "data" not in fields:
        return None
    try:
        body = json.loads(fields["data"])
        return EventView(
            id=fields["id"],
            type=body["type"],
            at=body["at"],
            job_id=body["job_id"],
            brand=body["brand"],
            data=body["data"],
        )
    except (ValueError, KeyError, TypeError):
        raise ApiUnavailable("The server sent an event that cannot be read. Is it Postino?") from None
