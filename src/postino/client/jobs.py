"""Jobs of any type, dead letters and uncertain jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.messages import ApiRequest, get, omit_none, post, send
from postino.client.posts import ensure_key
from postino.client.types.dead_letters import (
    BulkDeadLetterResultView,
    DeadLetterDetailsView,
    DeadLetterGroupView,
    DeadLetterView,
)
from postino.client.types.explain import ExplanationView
from postino.client.types.jobs import (
    BulkJobResultView,
    JobDetailsView,
    JobEvaluationView,
    JobPreviewView,
    JobView,
    QueuedJobView,
)
from postino.client.types.requests import (
    Id,
    Instant,
    JobFields,
    ListDeadLettersParams,
    ListJobsParams,
    ListUncertainParams,
    ReplayOptions,
    Resolution,
)
from postino.client.types.schema import Page
from postino.client.types.uncertain import LookupResultView, UncertainJobDetailsView, UncertainJobView


def to_ids(ids: Sequence[Id] | None) -> list[str] | None:
    return None if ids is None else [str(item) for item in ids]


class Jobs(Resource[SessionT]):
    """Queue, list and change jobs."""

    @call
    def create(self, type: str, *, key: str | None = None, **fields: Unpack[JobFields]) -> ApiRequest[QueuedJobView]:
        """Queue a job. `key` is its idempotency key: a channel never has two jobs with the same key."""
        unique = ensure_key(key)
        return send("POST", "jobs", body={"type": type, "idempotency_key": unique, **fields}, key=unique)

    @call
    def preview(self, type: str, *, key: str | None = None, **fields: Unpack[JobFields]) -> ApiRequest[JobPreviewView]:
        """Return the job that `create` would queue, and whether it could run at its time."""
        named = omit_none({"idempotency_key": key})
        return send("POST", "jobs", body={"type": type, "preview": True, **named, **fields})

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
    ) -> ApiRequest[JobEvaluationView]:
        """Return whether a job could run at a time. Queues nothing."""
        lane = {"account": account, "brand": brand, "queue": queue}
        return post("jobs", "test", channel=channel, run_at=run_at, timezone=timezone, **lane)

    @call
    def list(self, **filters: Unpack[ListJobsParams]) -> ApiRequest[Page[JobView]]:
        """Return one page of jobs, newest first."""
        return get("jobs", **filters)

    @paginate
    def iterate(self, **filters: Unpack[ListJobsParams]) -> ApiRequest[Page[JobView]]:
        """Iterate over all jobs, newest first."""
        return get("jobs", **filters)

    @call
    def get(self, job_id: Id) -> ApiRequest[JobDetailsView]:
        """Return one job with its attempts."""
        return get("jobs", job_id)

    @call
    def explain(self, job_id: Id, *, timezone: str | None = None) -> ApiRequest[ExplanationView]:
        """Return why a job has not run."""
        return get("jobs", job_id, "explain", timezone=timezone)

    @call
    def cancel(self, job_id: Id, *, reason: str = "") -> ApiRequest[JobView]:
        """Cancel a pending job."""
        return post("jobs", job_id, "cancel", reason=reason)

    @call
    def replay(self, job_id: Id, **options: Unpack[ReplayOptions]) -> ApiRequest[JobView]:
        """Run a failed job again, with another `payload` if one is passed."""
        return send("POST", "jobs", job_id, "replay", body=options)

    @call
    def resolve(
        self, job_id: Id, verdict: Resolution, *, reason: str, remote_id: str | None = None
    ) -> ApiRequest[JobView]:
        """Decide what became of an uncertain job. `live` needs its `remote_id`."""
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
    ) -> ApiRequest[BulkJobResultView]:
        """Cancel, replay or resolve up to 200 jobs, selected by `ids` or `filter`. Return the result of each."""
        options: dict[str, Any] = {"reason": reason, "force": force, "verdict": verdict}
        return post("jobs", "bulk", action=action, ids=to_ids(ids), filter=filter, **options)


class DeadLetters(Resource[SessionT]):
    """Jobs that failed for good."""

    @call
    def list(self, **filters: Unpack[ListDeadLettersParams]) -> ApiRequest[Page[DeadLetterView]]:
        """Return one page of dead letters, newest job first."""
        return get("dead-letters", **filters)

    @paginate
    def iterate(self, **filters: Unpack[ListDeadLettersParams]) -> ApiRequest[Page[DeadLetterView]]:
        """Iterate over all dead letters, newest job first."""
        return get("dead-letters", **filters)

    @call
    def groups(self, *, brand: str | None = None) -> ApiRequest[Page[DeadLetterGroupView]]:
        """Return dead letters grouped by cause, channel, type and error, largest group first."""
        return get("dead-letters", "groups", brand=brand)

    @call
    def get(self, job_id: Id) -> ApiRequest[DeadLetterDetailsView]:
        """Return one dead letter with its payload, attempts and last stack trace."""
        return get("dead-letters", job_id)

    @call
    def replay(self, job_id: Id, **options: Unpack[ReplayOptions]) -> ApiRequest[JobView]:
        """Run the job again, with another `payload` if one is passed."""
        return send("POST", "dead-letters", job_id, "replay", body=options)

    @call
    def discard(self, job_id: Id, *, reason: str) -> ApiRequest[DeadLetterDetailsView]:
        """Mark a dead letter as resolved without running its job."""
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
    ) -> ApiRequest[BulkJobResultView]:
        """Replay up to 200 dead letters, at most `per_second`. Return the result of each."""
        options: dict[str, Any] = {"per_second": per_second, "force": force, "reason": reason}
        return post("dead-letters", "replay", ids=to_ids(ids), filter=filter, **options)

    @call
    def discard_many(
        self, *, reason: str, ids: Sequence[Id] | None = None, filter: Mapping[str, Any] | None = None
    ) -> ApiRequest[BulkDeadLetterResultView]:
        """Discard up to 200 dead letters. Return the result of each."""
        return post("dead-letters", "discard", ids=to_ids(ids), filter=filter, reason=reason)


class Uncertain(Resource[SessionT]):
    """Jobs whose result is unknown: the network may have received them."""

    @call
    def list(self, **filters: Unpack[ListUncertainParams]) -> ApiRequest[Page[UncertainJobView]]:
        """Return one page of at most 50 uncertain jobs, newest first."""
        return get("uncertain", **filters)

    @paginate
    def iterate(self, **filters: Unpack[ListUncertainParams]) -> ApiRequest[Page[UncertainJobView]]:
        """Iterate over all uncertain jobs, newest first."""
        return get("uncertain", **filters)

    @call
    def get(self, job_id: Id) -> ApiRequest[UncertainJobDetailsView]:
        """Return one uncertain job with its attempts."""
        return get("uncertain", job_id)

    @call
    def lookup(self, job_id: Id) -> ApiRequest[LookupResultView]:
        """Look up the job on its network now. Changes nothing."""
        return post("uncertain", job_id, "lookup")
