"""Copy what a forecast needs out of a store, and load it into an empty one. The source is only read."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from postino.rules.blackout import render_blackout
from postino.rules.gates import is_closed
from postino.rules.quota import QuotaUse
from postino.stores.operations.blackouts import list_blackouts
from postino.stores.operations.circuits import list_account_circuits, lock_breaker, write_breaker
from postino.stores.operations.gates import close_gate, list_gates, read_gate_sources, set_default_caps
from postino.stores.records import ForecastInput
from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import Job, Queue, State, get_lane, new_id
from postino.values.service import get_network

LONGEST_QUOTA = timedelta(days=32)  # a month
COPIED_COLUMNS = (
    "id", "type", "channel", "account", "brand", "scheduled_at", "run_at", "attempts", "generation", "rescues",
    "may_be_live", "ignore_blackouts", "lookup_at", "claimed_at", "created_at",
)  # fmt: skip


def read_forecast_input(until_at: datetime, most: int) -> Operation[ForecastInput]:
    """Return at most `most` jobs that may run by a time, and all that may hold them up."""
    gate_sources, now = yield from read_gate_sources()
    due = yield ask("list_jobs_due_by", until_at=until_at, most=most)
    finished = yield ask("list_durations")
    served = yield ask("list_brand_turns")
    spent = yield ask("list_quota_usage_since", since_at=now - LONGEST_QUOTA)
    held = yield from list_account_circuits({row["account"] for row in due if row["account"] is not None})
    return ForecastInput(
        now=now,
        jobs=tuple(to_job_copy(row) for row in due),
        posts={row["id"]: row["publish_until_at"] for row in due if row["is_post"]},
        gates=tuple((yield from list_gates())),
        blackouts=tuple((yield from list_blackouts())),
        circuits=(*gate_sources.breakers, *{breaker.service: breaker for breaker in held.values()}.values()),
        services={account: breaker.service for account, breaker in held.items()},
        caps=gate_sources.caps,
        served={(row["channel"], row["brand"]): row["at"] for row in served},
        spent=tuple((row["channel"], row["account"], row["quota"], QuotaUse(row["at"], row["cost"])) for row in spent),
        lasted=compute_usual_durations(finished),
    )


def to_job_copy(row: Row) -> Job:
    """Return the job in a row, without its payload."""
    values: dict[str, Any] = {name: row[name] for name in COPIED_COLUMNS}
    key = str(row["id"])
    return Job(queue=Queue(row["queue"]), state=State(row["state"]), payload=b"", idempotency_key=key, **values)


def compute_usual_durations(finished: Sequence[Row]) -> dict[str, timedelta]:
    """Return the median duration of recently completed jobs, by channel."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in finished:
        seconds[row["channel"]].append(max((row["finished_at"] - row["claimed_at"]).total_seconds(), 0.0))
    return {channel: timedelta(seconds=median(durations)) for channel, durations in seconds.items()}


def load_forecast(forecast: ForecastInput, workers: Sequence[str]) -> Operation[list[Job]]:
    """Write a forecast's input into an empty store; return the running jobs, claimed by these workers."""
    running = [
        replace(job, claimed_by=workers[number % len(workers)], token=new_id())
        for number, job in enumerate(job for job in forecast.jobs if job.state is State.RUNNING)
    ]
    waiting = [replace(job, claimed_at=None) for job in forecast.jobs if job.state is not State.RUNNING]
    yield each("load_jobs", [make_job_row(job) for job in (*running, *waiting)])
    yield each("load_posts", make_post_rows(forecast))
    served = [{"channel": channel, "brand": brand, "at": at} for (channel, brand), at in forecast.served.items()]
    yield each("load_brand_turns", served)
    yield each("load_quota_usage", make_spent_rows(forecast))
    for gate in forecast.gates:
        if is_closed(gate, forecast.now):
            yield from close_gate(gate.scope, gate.name, gate.kind, gate.until_at, gate.reason)
    yield from set_default_caps(forecast.caps)
    yield each("load_accounts", make_account_rows(forecast))
    for breaker in forecast.circuits:
        yield from lock_breaker(breaker.service)
        yield from write_breaker(breaker, breaker)
    yield each(
        "insert_blackout",
        [{"id": blackout.id, "definition": json.dumps(render_blackout(blackout))} for blackout in forecast.blackouts],
    )
    return running


def make_job_row(job: Job) -> dict[str, Any]:
    """Return the columns of a job."""
    values = {name: getattr(job, name) for name in COPIED_COLUMNS}
    lane = get_lane(job.account, job.brand)
    return values | {
        "queue": job.queue, "state": job.state.value, "lane": lane, "claimed_by": job.claimed_by, "token": job.token,
    }  # fmt: skip


def make_account_rows(forecast: ForecastInput) -> list[Mapping[str, Any]]:
    """Return the columns of the accounts whose circuits are not closed."""
    return [
        {"id": account, "network": get_network(service), "service": service}
        for account, service in forecast.services.items()
    ]


def make_post_rows(forecast: ForecastInput) -> list[Mapping[str, Any]]:
    """Return the columns of the jobs that are posts."""
    return [
        {"id": job.id, "channel": job.channel, "account": job.account or "", "publish_until_at": forecast.posts[job.id]}
        for job in forecast.jobs
        if job.id in forecast.posts
    ]


def make_spent_rows(forecast: ForecastInput) -> list[Mapping[str, Any]]:
    """Return the columns of what was spent of quotas."""
    return [
        {"number": number, "spent_on": channel, "account": account, "quota": quota, "cost": spent.cost, "at": spent.at}
        for number, (channel, account, quota, spent) in enumerate(forecast.spent)
    ]
