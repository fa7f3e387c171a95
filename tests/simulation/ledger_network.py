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
    timeout=timedelta(seconds=10), visibility=timedelta(seconds=20), send_within=timedelta(seconds=5)
)
ARRIVES = {"accepted", "lost", "slowly", "error", "hangs"}
Part = tuple[UUID, int]
MaySend = Callable[[], str | None]


@dataclass
class Shown:
    """What is out there."""

    text: str
    remote_id: str
    visible_at: datetime


@dataclass(eq=False)
class Visit:
    """A run that waits for the network: to let something leave, or to be told what is there."""

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
class Passage:
    """The door, open for one act: all the network needs of it is whether anything may still leave."""

    may_send: MaySend


class Door:
    def open(self, *, timeout: timedelta, may_send: MaySend, visible: bool, secrets: Any, public: bool) -> Any:
        return Passage(may_send)


@dataclass
class Network:
    """Shows every arrival, and lets nothing leave that may be there already unless a person said that it is not."""

    now: Callable[[], datetime]
    stirred: asyncio.Event
    ready: bool = True
    visits: list[Visit] = field(default_factory=list)
    shown: dict[Part, list[Shown]] = field(default_factory=dict)
    departed: set[UUID] = field(default_factory=set)
    unknown: set[Part] = field(default_factory=set)  # left, and nobody was told what became of it
    texts: dict[UUID, str] = field(default_factory=dict)  # what each job is to say, as it was last edited

    # What a handler calls

    async def make(self, http: Any, text: str) -> str:
        return f"container of {text}"

    async def is_ready(self, http: Any, container: str) -> bool | None:
        return True if self.ready else None

    async def send(self, http: Any, part: Part, text: str, harmless: bool) -> Any:
        return await self.visited("send", part, text, http.http.may_send, harmless)

    async def find(self, http: Any, intent: Intent, part: Part, text: str, harmless: bool) -> Any:
        quarantine = CALL_POLICY.timeout + CALL_POLICY.visibility
        assert self.now() >= intent.send_before_at + quarantine - timedelta(milliseconds=1), "asked too early"
        return await self.visited("look", part, text, http.http.may_send, harmless)

    async def visited(self, kind: str, part: Part, text: str, may_send: MaySend, harmless: bool) -> Any:
        answer = asyncio.get_running_loop().create_future()
        visit = Visit(kind, part, text, may_send, answer, self.now(), asyncio.current_task(), harmless)
        self.visits.append(visit)
        self.stirred.set()
        try:
            return await visit.answer
        finally:
            self.visits.remove(visit)

    # What the network does

    def move(self, visit: Visit, how: str) -> None:
        try:
            said = self.seen(visit, how) if visit.kind == "look" else self.sent(visit, how)
        except (NotSent, LostResponse) as error:
            visit.answer.set_exception(error)
        else:
            if said is not None:
                visit.answer.set_result(said)

    def sent(self, visit: Visit, how: str) -> Receipt | Failure | None:
        """None: no answer yet."""
        if visit.left:
            return self.answered(visit) if how in ("accepted", "hangs") else self.silence()
        if how == "unsent" or (reason := visit.may_send()):
            raise NotSent(reason if how != "unsent" else "no connection")
        self.leave(visit)
        if how in ARRIVES:
            self.arrive(visit, late=how == "slowly")
        match how:
            case "accepted":
                return self.answered(visit)
            case "hangs":
                visit.left = True
                return None
            case "error":
                return Failure(FailureKind.TRANSIENT, "Internal error.")
            case "refused" | "limited":
                self.unknown.discard(visit.part)
                kind = FailureKind.PERMANENT if how == "refused" else FailureKind.RATE_LIMIT
                return Failure(kind, how, until=self.now() + timedelta(seconds=30))
            case _:
                return self.silence()

    def leave(self, visit: Visit) -> None:
        job_id, number = visit.part
        assert self.now() <= visit.at + CALL_POLICY.send_within, "sent when its moment had passed"
        assert visit.text == f"container of {self.texts[job_id]}", "not what it was edited to"
        assert not number or self.shown.get((job_id, number - 1)), "a reply to nothing"
        if not visit.harmless:
            assert visit.part not in self.unknown, "sent again while the first may be there"
            assert visit.part not in self.shown, "sent again although it is there"
        self.departed.add(job_id)
        self.unknown.add(visit.part)

    def arrive(self, visit: Visit, *, late: bool) -> None:
        posts = self.shown.setdefault(visit.part, [])
        if posts and visit.harmless:
            return  # the network takes it for the same
        delay = CALL_POLICY.timeout + CALL_POLICY.visibility if late else timedelta(0)
        job_id, number = visit.part
        posts.append(Shown(visit.text, f"{job_id.int % 10_000}/{number}/{len(posts)}", self.now() + delay))

    def answered(self, visit: Visit) -> Receipt:
        self.unknown.discard(visit.part)
        return Receipt(remote_id=self.shown[visit.part][0].remote_id)

    def silence(self) -> NoReturn:
        raise LostResponse("no answer")

    def seen(self, visit: Visit, how: str) -> LookupResult | Failure:
        match how:
            case "lost" | "gone" | "slowly":
                return self.silence()
            case "error":
                return Failure(FailureKind.TRANSIENT, "Internal error.")
            case "limited":
                return Failure(FailureKind.RATE_LIMIT, "limited", until=self.now() + timedelta(seconds=30))
            case "refused":
                return CannotTell("perhaps")
        visible = [post for post in self.shown.get(visit.part, []) if post.visible_at <= self.now()]
        return Found(Receipt(remote_id=visible[0].remote_id)) if visible else NotFound()

    def is_there(self, part: Part) -> str | None:
        """What a person sees who looks carefully."""
        posts = self.shown.get(part)
        return posts[0].remote_id if posts else None
