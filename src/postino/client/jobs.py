"""Jobs of any type, those that failed, and those nobody is sure of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from postino.client.endpoints import Resource, SessionT, call, paginate
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
from postino.client.messages import ApiRequest, get, omit_none, post, send
from postino.client.posts import ensure_key
from postino.client.shapes import Explained
from postino.client.wishes import Again, Id, Instant, JobsWanted, LettersWanted, NewJob, UncertainWanted, Verdict
from postino.client.words import Page


def to_ids(ids: Sequence[Id] | None) -> list[str] | None:
    return None if ids is None else [str(one) for one in ids]


class Jobs(Resource[SessionT]):
    @call
    def create(self, type: str, *, key: str | None = None, **fields: Unpack[NewJob]) -> ApiRequest[QueuedJob]:
        """Queues one. `key` is its idempotency key: a channel has one job with it, for ever."""
        known = ensure_key(key)
        return send("POST", "jobs", body={"type": type, "idempotency_key": known, **fields}, key=known)

    @call
    def preview(self, type: str, *, key: str | None = None, **fields: Unpack[NewJob]) -> ApiRequest[PreviewedJob]:
        """What would be queued, and whether it could run then; nothing is queued."""
        return send(
            "POST", "jobs", body={"type": type, "preview": True, **omit_none({"idempotency_key": key}), **fields}
        )

    @call
    def test(
        self,
        channel: str,
        *,
        run_at: Instant | None = None,
        timezone: str | None = None,
        account: str | None = None,
        brand: str | None = None,
        queue: str | None = None,
    ) -> ApiRequest[Evaluated]:
        """Whether one could run at a time; nothing is queued."""
        whose = {"account": account, "brand": brand, "queue": queue}
        return post("jobs", "test", channel=channel, run_at=run_at, timezone=timezone, **whose)

    @call
    def page(self, **filters: Unpack[JobsWanted]) -> ApiRequest[Page[Job]]:
        """Some of them, the newest first."""
        return get("jobs", **filters)

    @paginate
    def each(self, **filters: Unpack[JobsWanted]) -> ApiRequest[Page[Job]]:
        """All of them, the newest first."""
        return get("jobs", **filters)

    @call
    def get(self, job_id: Id) -> ApiRequest[JobDetails]:
        """One job, with every try."""
        return get("jobs", job_id)

    @call
    def explain(self, job_id: Id, *, timezone: str | None = None) -> ApiRequest[Explained]:
        """Why it has not run."""
        return get("jobs", job_id, "explain", timezone=timezone)

    @call
    def cancel(self, job_id: Id, *, reason: str = "") -> ApiRequest[Job]:
        return post("jobs", job_id, "cancel", reason=reason)

    @call
    def replay(self, job_id: Id, **how: Unpack[Again]) -> ApiRequest[Job]:
        """Runs a failed one again, with another `payload` if one is given."""
        return send("POST", "jobs", job_id, "replay", body=how)

    @call
    def resolve(self, job_id: Id, verdict: Verdict, *, reason: str, remote_id: str | None = None) -> ApiRequest[Job]:
        """A person's word about an uncertain one."""
        return post("jobs", job_id, "resolve", verdict=verdict, reason=reason, remote_id=remote_id)

    @call
    def change(
        self,
        action: Literal["cancel", "replay", "resolve"],
        *,
        ids: Sequence[Id] | None = None,
        filter: Mapping[str, Any] | None = None,
        reason: str = "",
        force: bool = False,
        verdict: Literal["send_again", "give_up"] | None = None,
    ) -> ApiRequest[JobResults]:
        """The same to at most 200, by `ids` or `filter`: what became of each."""
        how: dict[str, Any] = {"reason": reason, "force": force, "verdict": verdict}
        return post("jobs", "bulk", action=action, ids=to_ids(ids), filter=filter, **how)


class DeadLetters(Resource[SessionT]):
    @call
    def page(self, **filters: Unpack[LettersWanted]) -> ApiRequest[Page[Letter]]:
        """Some of them, the newest jobs first."""
        return get("dead-letters", **filters)

    @paginate
    def each(self, **filters: Unpack[LettersWanted]) -> ApiRequest[Page[Letter]]:
        """All of them, the newest jobs first."""
        return get("dead-letters", **filters)

    @call
    def groups(self, *, brand: str | None = None) -> ApiRequest[Page[Trouble]]:
        """Those that failed alike, the largest group first."""
        return get("dead-letters", "groups", brand=brand)

    @call
    def get(self, job_id: Id) -> ApiRequest[LetterDetails]:
        """One, with its payload, every try and the last stack trace."""
        return get("dead-letters", job_id)

    @call
    def replay(self, job_id: Id, **how: Unpack[Again]) -> ApiRequest[Job]:
        """Runs it again, with another `payload` if one is given."""
        return send("POST", "dead-letters", job_id, "replay", body=how)

    @call
    def discard(self, job_id: Id, *, reason: str) -> ApiRequest[LetterDetails]:
        """Lays it aside for good."""
        return post("dead-letters", job_id, "discard", reason=reason)

    @call
    def replay_many(
        self,
        *,
        ids: Sequence[Id] | None = None,
        filter: Mapping[str, Any] | None = None,
        per_second: float | None = None,
        force: bool = False,
        reason: str = "",
    ) -> ApiRequest[JobResults]:
        """At most 200 of them, so many in a second: what became of each."""
        how: dict[str, Any] = {"per_second": per_second, "force": force, "reason": reason}
        return post("dead-letters", "replay", ids=to_ids(ids), filter=filter, **how)

    @call
    def discard_many(
        self, *, reason: str, ids: Sequence[Id] | None = None, filter: Mapping[str, Any] | None = None
    ) -> ApiRequest[LetterResults]:
        """At most 200 of them: what became of each."""
        return post("dead-letters", "discard", ids=to_ids(ids), filter=filter, reason=reason)


class Uncertain(Resource[SessionT]):
    @call
    def page(self, **filters: Unpack[UncertainWanted]) -> ApiRequest[Page[UncertainJob]]:
        """Some of them, the newest first; at most 50."""
        return get("uncertain", **filters)

    @paginate
    def each(self, **filters: Unpack[UncertainWanted]) -> ApiRequest[Page[UncertainJob]]:
        """All of them, the newest first."""
        return get("uncertain", **filters)

    @call
    def get(self, job_id: Id) -> ApiRequest[UncertainDetails]:
        """One of them, with every try."""
        return get("uncertain", job_id)

    @call
    def look(self, job_id: Id) -> ApiRequest[Sight]:
        """Asks the network now; nothing is changed."""
        return post("uncertain", job_id, "look")
