"""HTTP connections with time limits: a request must arrive, and a response must be read, within a bounded time."""

import asyncio
import json
import resource
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LINGER = 5.0  # seconds of reading and dropping what follows a rejected request: most clients send all, then read
NOT_HTTP = "The request is not valid HTTP. Nothing was changed."
TOO_LARGE = "The URL and the headers are too large: about 16 kB together are allowed. Nothing was changed."
TOO_SLOW = "The request did not arrive in time. Send it again without pauses. Nothing was changed."
CHUNK = 8192  # bytes
TOO_LARGE_STATUSES = (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class LingeringTransport:
    """A transport that stays open while the client still sends: closing would reset it and lose the response."""

    def __init__(self, transport: asyncio.Transport, connection: "Connection") -> None:
        self.transport, self.connection = transport, connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    def close(self) -> None:
        if self.connection.is_request_unfinished() and not self.transport.is_closing():
            self.connection.linger()
        else:
            self.transport.close()


class Connection(H11Protocol):
    """A connection that ends if the client is idle, slow, reads nothing or sends invalid HTTP."""

    read_timeout = 20.0
    read_timer: asyncio.TimerHandle | None = None  # runs while the start of a request, or its unread rest, is awaited
    write_timer: asyncio.TimerHandle | None = None  # runs while the client reads nothing
    rejected = False
    half_closed = False  # the client has sent everything it will send

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(LingeringTransport(transport, self))  # type: ignore[arg-type]
        self.start_read_timer(self.read_timeout)

    def data_received(self, data: bytes) -> None:
        """Feed h11 in chunks until the headers end: it does not limit headers that arrive in one piece."""
        while data and not self.rejected:
            chunk = data[:CHUNK] if self.conn.their_state is h11.IDLE else data
            data = data[len(chunk) :]
            self.feed(chunk)

    def feed(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            if self.read_timer is None:
                self.start_read_timer(self.read_timeout)
        elif self.conn.their_state is not h11.ERROR and not self.cycle.response_complete:
            self.stop_read_timer()  # from here on the application limits how long the body may take

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep the connection open if a complete request still waits for its response."""
        self.half_closed = (
            self.has_open_request() and not self.cycle.response_started and self.transport.can_write_eof()
        )
        return self.half_closed

    def has_open_request(self) -> bool:
        """Return whether a complete request waits for the end of its response."""
        return self.conn.their_state in (h11.DONE, h11.MUST_CLOSE) and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.half_closed and not self.has_open_request():
            self.transport.close()
        if self.conn.their_state is h11.SEND_BODY:
            self.start_read_timer(LINGER)

    def start_read_timer(self, seconds: float) -> None:
        self.stop_read_timer()
        self.read_timer = self.loop.call_later(seconds, self.on_read_timeout)

    def stop_read_timer(self) -> None:
        if self.read_timer is not None:
            self.read_timer.cancel()
            self.read_timer = None

    def on_read_timeout(self) -> None:
        self.read_timer = None
        if self.rejected or self.conn.their_state is not h11.IDLE or not self.conn.trailing_data[0]:
            self.transport.close()
        else:
            self.reject(HTTPStatus.REQUEST_TIMEOUT, TOO_SLOW)

    def send_400_response(self, msg: str) -> None:
        """Reject what h11 could not parse; uvicorn calls this while it handles h11's exception."""
        hint = getattr(sys.exception(), "error_status_hint", HTTPStatus.BAD_REQUEST)
        too_large = hint in TOO_LARGE_STATUSES
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if too_large else HTTPStatus.BAD_REQUEST
        self.reject(status, TOO_LARGE if too_large else NOT_HTTP)

    def reject(self, status: HTTPStatus, detail: str) -> None:
        self.rejected = True
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
        body = json.dumps(problem).encode()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=status.value, headers=headers, reason=status.phrase.encode())
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.linger()

    def is_request_unfinished(self) -> bool:
        """Return whether the response was complete before the request was."""
        return not (self.rejected or self.half_closed) and self.conn.their_state is h11.SEND_BODY

    def linger(self) -> None:
        """Stop writing, and briefly discard what still arrives."""
        self.rejected = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self.start_read_timer(LINGER)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.start_write_timer(self.transport.get_write_buffer_size())

    def start_write_timer(self, unsent: int) -> None:
        """Check later that the client has read something since; slow clients are fine."""
        self.write_timer = self.loop.call_later(self.read_timeout, self.abort_unless_read, unsent)

    def abort_unless_read(self, unsent: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= unsent:
            self.transport.abort()
        else:
            self.start_write_timer(left)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.write_timer is not None:
            self.write_timer.cancel()
            self.write_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_read_timer()
        super().connection_lost(exc)  # this resumes writing, which stops the write timer


def connection_class(read_timeout: float) -> type[Connection]:
    """Return a class of connections that wait this many seconds for a request."""
    return type("Connection", (Connection,), {"read_timeout": read_timeout})


def raise_file_limit() -> None:
    """Allow as many open files as the system permits, so that idle connections do not block new ones."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
