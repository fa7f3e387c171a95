"""Jobs of any type, those that failed, and those nobody is sure of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from postino.client.job_shapes import (
    Evaluated,
    Job,
    JobDetails,
    JobResults,
    Letter,
    LetterDetails,
    LetterResults,
    PreviewedJob,
    QueuedJob,
    Sight,
    Trouble,
    UncertainDetails,
    UncertainJob,
)
from postino.client.messages import Request, get, post, said, send
from postino.client.posts import anew
from postino.client.shapes import Explained
from postino.client.ways import Room, Way, asks, walks
from postino.client.wishes import Again, Id, Instant, JobsWanted, LettersWanted, NewJob, UncertainWanted, Verdict
from postino.client.words import Page


def these(ids: Sequence[Id] | None) -> list[str] | None:
    return None if ids is None else [str(one) for one in ids]


class Jobs(Room[Way]):
    @asks
    def create(self, type: str, *, key: str | None = None, **fields: Unpack[NewJob]) -> Request[QueuedJob]:
        """Queues one. `key` is its idempotency key: a channel has one job with it, for ever."""
        known = anew(key)
        return send("POST", "jobs", body={"type": type, "idempotency_key": known, **fields}, key=known)

    @asks
    def preview(self, type: str, *, key: str | None = None, **fields: Unpack[NewJob]) -> Request[PreviewedJob]:
        """What would be queued, and whether it could run then; nothing is queued."""
        return send("POST", "jobs", body={"type": type, "preview": True, **said({"idempotency_key": key}), **fields})

    @asks
    def test(
        self,
        channel: str,
        *,
        run_at: Instant | None = None,
        timezone: str | None = None,
        account: str | None = None,
        brand: str | None = None,
        queue: str | None = None,
    ) -> Request[Evaluated]:
        """Whether one could run at a time; nothing is queued."""
        whose = {"account": account, "brand": brand, "queue": queue}
        return post("jobs", "test", channel=channel, run_at=run_at, timezone=timezone, **whose)

    @asks
    def page(self, **filters: Unpack[JobsWanted]) -> Request[Page[Job]]:
        """Some of them, the newest first."""
        return get("jobs", **filters)

    @walks
    def each(self, **filters: Unpack[JobsWanted]) -> Request[Page[Job]]:
        """All of them, the newest first."""
        return get("jobs", **filters)

    @asks
    def get(self, job_id: Id) -> Request[JobDetails]:
        """One job, with every try."""
        return get("jobs", job_id)

    @asks
    def explain(self, job_id: Id, *, timezone: str | None = None) -> Request[Explained]:
        """Why it has not run."""
        return get("jobs", job_id, "explain", timezone=timezone)

    @asks
    def cancel(self, job_id: Id, *, reason: str = "") -> Request[Job]:
        return post("jobs", job_id, "cancel", reason=reason)

    @asks
    def replay(self, job_id: Id, **how: Unpack[Again]) -> Request[Job]:
        """Runs a failed one again, with another `payload` if one is given."""
        return send("POST", "jobs", job_id, "replay", body=how)

    @asks
    def resolve(self, job_id: Id, verdict: Verdict, *, reason: str, remote_id: str | None = None) -> Request[Job]:
        """A person's word about an uncertain one."""
        return post("jobs", job_id, "resolve", verdict=verdict, reason=reason, remote_id=remote_id)

    @asks
    def change(
        self,
        action: Literal["cancel", "replay", "resolve"],
        *,
        ids: Sequence[Id] | None = None,
        filter: Mapping[str, Any] | None = None,
        reason: str = "",
        force: bool = False,
        verdict: Literal["send_again", "give_up"] | None = None,
    ) -> Request[JobResults]:
        """The same to at most 200, by `ids` or `filter`: what became of each."""
        how: dict[str, Any] = {"reason": reason, "force": force, "verdict": verdict}
        return post("jobs", "bulk", action=action, ids=these(ids), filter=filter, **how)


class DeadLetters(Room[Way]):
    @asks
    def page(self, **filters: Unpack[LettersWanted]) -> Request[Page[Letter]]:
        """Some of them, the newest jobs first."""
        return get("dead-letters", **filters)

    @walks
    def each(self, **filters: Unpack[LettersWanted]) -> Request[Page[Letter]]:
        """All of them, the newest jobs first."""
        return get("dead-letters", **filters)

    @asks
    def groups(self, *, brand: str | None = None) -> Request[Page[Trouble]]:
        """Those that failed alike, the largest group first."""
        return get("dead-letters", "groups", brand=brand)

    @asks
    def get(self, job_id: Id) -> Request[LetterDetails]:
        """One, with its payload, every try and the last stack trace."""
        return get("dead-letters", job_id)

    @asks
    def replay(self, job_id: Id, **how: Unpack[Again]) -> Request[Job]:
        """Runs it again, with another `payload` if one is given."""
        return send("POST", "dead-letters", job_id, "replay", body=how)

    @asks
    def discard(self, job_id: Id, *, reason: str) -> Request[LetterDetails]:
        """Lays it aside for good."""
        return post("dead-letters", job_id, "discard", reason=reason)

    @asks
    def replay_many(
        self,
        *,
        ids: Sequence[Id] | None = None,
        filter: Mapping[str, Any] | None = None,
        per_second: float | None = None,
        force: bool = False,
        reason: str = "",
    ) -> Request[JobResults]:
        """At most 200 of them, so many in a second: what became of each."""
        how: dict[str, Any] = {"per_second": per_second, "force": force, "reason": reason}
        return post("dead-letters", "replay", ids=these(ids), filter=filter, **how)

    @asks
    def discard_many(
        self, *, reason: str, ids: Sequence[Id] | None = None, filter: Mapping[str, Any] | None = None
    ) -> Request[LetterResults]:
        """At most 200 of them: what became of each."""
        return post("dead-letters", "discard", ids=these(ids), filter=filter, reason=reason)


class Uncertain(Room[Way]):
    @asks
    def page(self, **filters: Unpack[UncertainWanted]) -> Request[Page[UncertainJob]]:
        """Some of them, the newest first; at most 50."""
        return get("uncertain", **filters)

    @walks
    def each(self, **filters: Unpack[UncertainWanted]) -> Request[Page[UncertainJob]]:
        """All of them, the newest first."""
        return get("uncertain", **filters)

    @asks
    def get(self, job_id: Id) -> Request[UncertainDetails]:
        """One of them, with every try."""
        return get("uncertain", job_id)

    @asks
    def look(self, job_id: Id) -> Request[Sight]:
        """Asks the network now; nothing is changed."""
        return post("uncertain", job_id, "look")
