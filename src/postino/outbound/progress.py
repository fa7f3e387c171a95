"""How far one request got, and its deadline, which moves on while data moves.

A large body is sent in pieces. Until the socket has taken the last byte, the server cannot have accepted the request,
unless it responds before that. Bytes that this machine still holds when it ends a request are discarded.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from postino.rules.failures import is_refusal_status
from postino.values.provider import NotSent

MaySend = Callable[[], str | None]  # the reason why the request may no longer be sent, or None
PIECE_BYTES = 65_536
# A download or an upload must keep this rate in each window, and ends after half an hour: a server that sends or takes
# next to nothing must not hold a worker's slot.
SLOWEST_TRANSFER = 50_000  # bytes a second
WINDOW_TIMEOUTS = 4  # timeouts that a window lasts
MAX_TRANSFER_SECONDS = 1800.0
POLL_SECONDS = 0.05  # between two checks of the bytes that the socket has not accepted yet
# TLS may write records of its own behind the request, such as the reply to a key update. Fewer bytes prove nothing.
MAX_TLS_RECORDS_BEHIND = 4096
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def allow_sending() -> str | None:
    """Allow every request to begin and to continue: the default."""
    return None


@dataclass(slots=True)
class TransferPace:
    """Requires so many bytes in each window. A new window begins when the current one has its bytes."""

    started_at: float
    window: float  # seconds
    window_at: float = field(init=False)
    window_start: int = 0  # bytes moved before the window

    def __post_init__(self) -> None:
        self.window_at = self.started_at

    def compute_deadline(self, moved: int, now: float) -> float:
        """Return until when the transfer may go on, after this many bytes in all."""
        if moved - self.window_start >= SLOWEST_TRANSFER * self.window:
            self.window_at, self.window_start = now, moved
        return min(self.window_at + self.window, self.started_at + MAX_TRANSFER_SECONDS)


@dataclass(slots=True)
class RequestProgress:
    """Nothing was sent while `may_have_left` is false, and no complete request while `is_complete` is false.

    A server may respond, and thereby act, before it has the complete request: see `can_have_effect`.
    """

    may_send: MaySend
    seconds: float  # the most time without progress, and until the response after the last byte
    downloads: bool = False  # from a host that a user chose
    on_progress: MaySend = allow_sending  # called when data has moved; a reason ends the request
    may_have_left: bool = False
    is_complete: bool = True
    has_response: bool = False  # some bytes of a response have arrived
    body_bytes: int = 0  # of the response, decompressed
    status: int | None = None  # of the response, once all its headers have arrived
    refusal: str | None = None
    transports: tuple[asyncio.Transport, ...] = ()  # of the connection; with TLS also the one below
    deadline: asyncio.Timeout | None = None
    pace: TransferPace | None = None

    def start(self) -> asyncio.Timeout:
        """Return the timeout of the exchange."""
        if self.downloads:
            self.pace = self._start_pace()
        self.deadline = asyncio.timeout(self.seconds)
        return self.deadline

    def _start_pace(self) -> TransferPace:
        return TransferPace(asyncio.get_running_loop().time(), WINDOW_TIMEOUTS * self.seconds)

    def can_have_effect(self) -> bool:
        """Return whether the server may have acted: it has the complete request, or it responds and does not refuse."""
        is_refused = self.status is not None and is_refusal_status(self.status)
        return self.is_complete or (self.has_response and not is_refused)

    def end(self) -> None:
        """Stop watching, and discard what is still in the write buffers."""
        self.discard_unsent()
        self.deadline, self.transports = None, ()

    def discard_unsent(self) -> None:
        """Discard what is still in the write buffers: a closed connection would still send it.

        If this worker ends the request, and its last bytes are among the discarded ones, the request is incomplete.
        """
        held = self._count_held()
        ends_here = self.refusal is not None or (self.deadline is not None and self.deadline.expired())
        if ends_here and held > (MAX_TLS_RECORDS_BEHIND if len(self.transports) > 1 else 0) and self._shut_socket():
            self.is_complete = False
        if any(transport.get_write_buffer_size() for transport in self.transports):
            self.transports[0].abort()
            self.transports = ()

    def _shut_socket(self) -> bool:
        """Make sure that the socket accepts nothing more; return whether it is certain.

        `abort` alone is not enough: uvloop closes the socket later, and may write to it before that. The server gets a
        reset, so that it does not take the end of the connection for the end of the body.
        """
        try:
            with self.transports[-1].get_extra_info("socket").dup() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                connection.shutdown(socket.SHUT_WR)
        except OSError:  # the server has closed the connection
            return False
        return True

    def advance(self, moved: int = 0) -> None:
        """Extend the deadline after this many bytes in all. Raises NotSent if the request must stop."""
        if reason := self.on_progress():
            self.refusal = reason
            raise NotSent(reason)
        if self.deadline is not None and not self.deadline.expired():
            now = asyncio.get_running_loop().time()
            until = now + self.seconds
            if self.pace is not None:
                until = min(until, self.pace.compute_deadline(moved, now))
            self.deadline.reschedule(until)

    async def send_pieces(self, parts: Sequence[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts of a body in pieces, then wait until the socket has taken the last one."""
        self.pace = self._start_pace()
        size, taken = sum(map(len, parts)), 0
        for part in parts:
            for start in range(0, len(part), PIECE_BYTES):
                self.advance(taken - self._count_held())
                piece = part[start : start + PIECE_BYTES]
                taken += len(piece)
                self.is_complete = taken == size
                yield piece
        left = self._count_held()
        while left:
            await asyncio.sleep(POLL_SECONDS)
            before, left = left, self._count_held()
            if left < before:
                self.advance(size - left)
        self.pace = None  # the response has its whole time
        self.advance()

    def _count_held(self) -> int:
        """Return how many bytes the socket has not accepted yet, or 0 if the connection closes."""
        if any(transport.is_closing() for transport in self.transports):
            return 0
        return sum(transport.get_write_buffer_size() for transport in self.transports)
