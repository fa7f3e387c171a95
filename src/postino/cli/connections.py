"""Connections that hold up nobody: a request has to come, and an answer to be taken, within a bounded time."""

import asyncio
import json
import resource
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LINGER = 5.0  # seconds for which the rest of what was refused is read and dropped: most senders listen only afterwards
NOT_HTTP = "What came in is not HTTP, or not as HTTP is written. Nothing was changed."
TOO_LARGE = "The address and the headers are too large together: about 16 kB are the most. Nothing was changed."
TOO_SLOW = "The request did not arrive in time. Send it again, all at once. Nothing was changed."
PIECE = 8192  # bytes
LARGE = (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class Farewell:
    """A connection's own end of the wire: who is still sending is not hung up on, or would never hear the answer."""

    def __init__(self, transport: asyncio.Transport, connection: "Connection") -> None:
        self.transport, self.connection = transport, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def close(self) -> None:
        if self.connection.is_being_told() and not self.transport.is_closing():
            self.connection.linger()
        else:
            self.transport.close()


class Connection(H11Protocol):
    """One that is idle, slow, deaf or talks nonsense is told so if it can be, and let go."""

    patience = 20.0
    clock: asyncio.TimerHandle | None = None  # runs while the beginning of a request, or the end of one, is awaited
    deaf: asyncio.TimerHandle | None = None  # runs while nothing of an answer is taken
    refused = False
    at_end = False  # it says nothing more

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Farewell(transport, self))  # type: ignore[arg-type]
        self.run_clock(self.patience)

    def data_received(self, data: bytes) -> None:
        """The beginning of a request piece by piece: h11 lets any size pass that came at once."""
        while data and not self.refused:
            piece = data[:PIECE] if self.conn.their_state is h11.IDLE else data
            data = data[len(piece) :]
            self.take(piece)

    def take(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            if self.clock is None:
                self.run_clock(self.patience)
        elif self.conn.their_state is not h11.ERROR and not self.cycle.response_complete:
            self.stop_clock()  # what else is to come, the application waits for

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Who has asked and says nothing more may still be listening. What is not whole is nothing anybody asked."""
        self.at_end = self.is_asked() and not self.cycle.response_started and self.transport.can_write_eof()
        return self.at_end

    def is_asked(self) -> bool:
        """There is a whole request that was not answered to its end."""
        return self.conn.their_state in (h11.DONE, h11.MUST_CLOSE) and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.at_end and not self.is_asked():
            self.transport.close()
        if self.conn.their_state is h11.SEND_BODY:
            self.run_clock(LINGER)

    def run_clock(self, seconds: float) -> None:
        self.stop_clock()
        self.clock = self.loop.call_later(seconds, self.time_is_up)

    def stop_clock(self) -> None:
        if self.clock is not None:
            self.clock.cancel()
            self.clock = None

    def time_is_up(self) -> None:
        self.clock = None
        if self.refused or self.conn.their_state is not h11.IDLE or not self.conn.trailing_data[0]:
            self.transport.close()
        else:
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, TOO_SLOW)

    def send_400_response(self, msg: str) -> None:
        """Called while the reason is being handled."""
        hint = getattr(sys.exception(), "error_status_hint", HTTPStatus.BAD_REQUEST)
        too_large = hint in LARGE
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_large else HTTPStatus.BAD_REQUEST
        self.refuse(status, TOO_LARGE if too_large else NOT_HTTP)

    def refuse(self, status: HTTPStatus, detail: str) -> None:
        self.refused = True
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        told = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
        body = json.dumps(told).encode()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        answer = h11.Response(status_code=status.value, headers=headers, reason=status.phrase.encode())
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.linger()

    def is_being_told(self) -> bool:
        """Something that was answered before it was at its end."""
        return not (self.refused or self.at_end) and self.conn.their_state is h11.SEND_BODY

    def linger(self) -> None:
        """Has said all it had to say, and drops for a moment what still comes."""
        self.refused = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self.run_clock(LINGER)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.watch(self.transport.get_write_buffer_size())

    def watch(self, unsent: int) -> None:
        """Slow is well, as long as something is taken."""
        self.deaf = self.loop.call_later(self.patience, self.let_go_if_deaf, unsent)

    def let_go_if_deaf(self, unsent: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= unsent:
            self.transport.abort()
        else:
            self.watch(left)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.deaf is not None:
            self.deaf.cancel()
            self.deaf = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_clock()
        super().connection_lost(exc)  # which resumes writing, in vain


def within(patience: float) -> type[Connection]:
    """Connections that wait for so many seconds for a request."""
    return type("Connection", (Connection,), {"patience": patience})


def allow_many() -> None:
    """As many open connections as this machine lets a process have: idle ones shall not keep others out."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
