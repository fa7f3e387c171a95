"""The oracle of the ledger: a network in memory that knows what was sent and raises on a duplicate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

from postino.values.ledger import CallPolicy
from postino.values.provider import (
    CannotTell,
    Failure,
    FailureKind,
    Found,
    Intent,
    LookupResult,
    LostResponse,
    NotFound,
    NotSent,
    Receipt,
)

CALL_POLICY = CallPolicy(
    timeout=timedelta(seconds=10), listing_delay=timedelta(seconds=20), send_within=timedelta(seconds=5)
)
ARRIVES = {"accepted", "lost", "slowly", "error", "hangs"}
Part = tuple[UUID, int]
MaySend = Callable[[], str | None]


@dataclass
class LivePost:
    """A live post."""

    text: str
    remote_id: str
    visible_at: datetime


@dataclass(eq=False)
class PendingCall:
    """A call of a run that waits for the network: a send or a lookup."""

    kind: str
    part: Part
    text: str
    may_send: MaySend
    answer: asyncio.Future[Any]
    at: datetime
    run: asyncio.Task[Any] | None
    harmless: bool = False
    left: bool = False


@dataclass
class FakeSession:
    """An outbound session for one call, which only knows whether a request may still be sent."""

    may_send: MaySend


class FakeOutbound:
    def open(self, *, may_send: MaySend, **_: Any) -> Any:
        return FakeSession(may_send)


@dataclass
class Network:
    """Records every arrival, and raises if a request is sent again that may have arrived, unless a person denied it."""

    now: Callable[[], datetime]
    changed: asyncio.Event
    ready: bool = True
    pending_calls: list[PendingCall] = field(default_factory=list)
    live: dict[Part, list[LivePost]] = field(default_factory=dict)
    unknown: set[Part] = field(default_factory=set)  # sent, without a response
    texts: dict[UUID, str] = field(default_factory=dict)  # the text of each job, as last edited

    # Called by handlers

    async def make(self, http: Any, text: str) -> str:
        return f"container of {text}"

    async def is_ready(self, http: Any, container: str) -> bool | None:
        return True if self.ready else None

    async def send(self, http: Any, part: Part, text: str, harmless: bool) -> Any:
        return await self.wait_for_move("send", part, text, http.http.may_send, harmless)

    async def find(self, http: Any, intent: Intent, part: Part, text: str, harmless: bool) -> Any:
        quarantine = CALL_POLICY.timeout + CALL_POLICY.listing_delay
        assert self.now() >= intent.send_before_at + quarantine - timedelta(milliseconds=1), (
            "a lookup before the end of the quarantine"
        )
        return await self.wait_for_move("look", part, text, http.http.may_send, harmless)

    async def wait_for_move(self, kind: str, part: Part, text: str, may_send: MaySend, harmless: bool) -> Any:
        answer = asyncio.get_running_loop().create_future()
        pending = PendingCall(kind, part, text, may_send, answer, self.now(), asyncio.current_task(), harmless)
        self.pending_calls.append(pending)
        self.changed.set()
        try:
            return await pending.answer
        finally:
            self.pending_calls.remove(pending)

    # Moves of the network

    def move(self, pending: PendingCall, reply: str) -> None:
        try:
            result = self.handle_lookup(pending, reply) if pending.kind == "look" else self.handle_send(pending, reply)
        except (NotSent, LostResponse) as error:
            pending.answer.set_exception(error)
        else:
            if result is not None:
                pending.answer.set_result(result)

    def handle_send(self, pending: PendingCall, reply: str) -> Receipt | Failure | None:
        """Return the response to a send, or None if there is none yet."""
        if pending.left:
            return self.make_receipt(pending) if reply in ("accepted", "hangs") else self.lose_response()
        if reply == "unsent" or (reason := pending.may_send()):
            raise NotSent(reason if reply != "unsent" else "no connection")
        self.record_departure(pending)
        if reply in ARRIVES:
            self.record_arrival(pending, late=reply == "slowly")
        match reply:
            case "accepted":
                return self.make_receipt(pending)
            case "hangs":
                pending.left = True
                return None
            case "error":
                return Failure(FailureKind.TRANSIENT, "Internal error.")
            case "refused" | "limited":
                self.unknown.discard(pending.part)
                kind = FailureKind.PERMANENT if reply == "refused" else FailureKind.RATE_LIMIT
                return Failure(kind, reply, until=self.now() + timedelta(seconds=30))
            case _:
                return self.lose_response()

    def record_departure(self, pending: PendingCall) -> None:
        job_id, number = pending.part
        assert self.now() <= pending.at + CALL_POLICY.send_within, "sent after the intent expired"
        assert pending.text == f"container of {self.texts[job_id]}", "not the edited text"
        assert not number or self.live.get((job_id, number - 1)), "a reply to nothing"
        if not pending.harmless:
            assert pending.part not in self.unknown, "sent again while the first may be live"
            assert pending.part not in self.live, "sent again although it is live"
        self.unknown.add(pending.part)

    def record_arrival(self, pending: PendingCall, *, late: bool) -> None:
        posts = self.live.setdefault(pending.part, [])
        if posts and pending.harmless:
            return  # the network treats it as the same post
        delay = CALL_POLICY.timeout + CALL_POLICY.listing_delay if late else timedelta(0)
        job_id, number = pending.part
        posts.append(LivePost(pending.text, f"{job_id.int % 10_000}/{number}/{len(posts)}", self.now() + delay))

    def make_receipt(self, pending: PendingCall) -> Receipt:
        self.unknown.discard(pending.part)
        return Receipt(remote_id=self.live[pending.part][0].remote_id)

    def lose_response(self) -> NoReturn:
        raise LostResponse("no answer")

    def handle_lookup(self, pending: PendingCall, reply: str) -> LookupResult | Failure:
        match reply:
            case "lost" | "gone" | "slowly":
                return self.lose_response()
            case "error":
                return Failure(FailureKind.TRANSIENT, "Internal error.")
            case "limited":
                return Failure(FailureKind.RATE_LIMIT, "limited", until=self.now() + timedelta(seconds=30))
            case "refused":
                return CannotTell("perhaps")
        visible = [post for post in self.live.get(pending.part, []) if post.visible_at <= self.now()]
        return Found(Receipt(remote_id=visible[0].remote_id)) if visible else NotFound()

    def find_live_post(self, part: Part) -> str | None:
        """Return the remote id of the live post, if there is one, as a person would see it."""
        posts = self.live.get(part)
        return posts[0].remote_id if posts else None
