"""A wrong field of a job raises WrongUse with its name, and nothing is written."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from postino import Exponential, JobSpec, Postino, Queue, Schedule, WrongUse
from postino.engine.job_spec import build_new_job
from postino.stores.records import JobFilter

WRONG = [
    ({"type": ""}, "type"),
    ({"type": "x" * 501}, "type"),
    ({"type": 7}, "type"),
    ({"type": None}, "type"),
    ({"at": datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)}, "at"),
    ({"at": "tomorrow"}, "at"),
    ({"at": datetime.max.replace(tzinfo=UTC)}, "at"),
    ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))}, "at"),
    ({"parent": "x" * 36}, "parent"),
    ({"queue": "urgent"}, "queue"),
    ({"channel": ""}, "channel"),
    ({"account": "a\x00b"}, "account"),
    ({"account": "half \ud83d"}, "account"),
    ({"brand": 3}, "brand"),
    ({"key": ""}, "key"),
    ({"user_id": "u" * 501}, "user_id"),
    ({"correlation_id": b"c"}, "correlation_id"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": -1}, "max_attempts"),
    ({"max_attempts": True}, "max_attempts"),
    ({"max_attempts": 2.5}, "max_attempts"),
    ({"time_limit": 0}, "time_limit"),
    ({"time_limit": float("inf")}, "time_limit"),
    ({"time_limit": float("nan")}, "time_limit"),
    ({"time_limit": 1e308}, "time_limit"),
    ({"time_limit": 10**400}, "time_limit"),
    ({"backoff": 5}, "backoff"),
    ({"backoff": Exponential(base=1e308, factor=1e308)}, "backoff"),
    ({"backoff": Exponential(max=float("inf"))}, "backoff"),
    ({"backoff": Exponential(factor=float("inf"))}, "backoff"),
    ({"backoff": Schedule([1e9])}, "backoff"),
    ({"backoff": Schedule([1] * 101)}, "backoff"),
    ({"type": "\U0001f600" * 126}, "type"),
    ({"channel": "\U0001f600" * 126}, "channel"),
    ({"account": "é" * 251}, "account"),
    ({"brand": "é" * 251}, "brand"),
    ({"payload": object()}, "payload"),
    ({"payload": {"x": float("nan")}}, "payload"),
    ({"payload": [float("-inf")]}, "payload"),
    ({"payload": "x" * 1_000_001}, "payload"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG)
async def test_wrong_field_is_named_and_nothing_is_written(app: Postino, wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(WrongUse, match=f"^{field}: ") as refused:
        await app.enqueue(**{"type": "t", **wrong})
    assert refused.value.field == field
    with pytest.raises(WrongUse, match=f"^{field}: "):
        await app.enqueue_many([{"type": "fine"}, {"type": "t", **wrong}])
    assert await app.store.jobs(JobFilter()) == []


def test_unknown_field_suggests_the_nearest_one() -> None:
    with pytest.raises(WrongUse, match=r"acount: a job has no such field\. Did you mean account\?"):
        JobSpec.parse({"type": "t", "acount": "a"})


@pytest.mark.parametrize("wanted", ["just a text", 7, None])
def test_value_that_is_no_job_is_refused(wanted: Any) -> None:
    with pytest.raises(WrongUse, match=r"^jobs: expected"):
        JobSpec.parse(wanted)


async def test_too_many_jobs_for_one_call_are_refused(app: Postino) -> None:
    with pytest.raises(WrongUse, match=r"^jobs: 100,001 are too many"):
        await app.enqueue_many([("t",)] * 100_001)


def test_times_are_stored_in_utc_with_defaults() -> None:
    rome = timezone(timedelta(hours=2))
    job = build_new_job(JobSpec("t", at=datetime(2026, 7, 1, 12, tzinfo=rome), backoff=Schedule([1, 5])), Queue.LOW)
    assert (job.run_at, job.channel, job.queue, job.key) == (datetime(2026, 7, 1, 10, tzinfo=UTC), "t", Queue.LOW, None)
    assert job.backoff == "[1, 5]"


def test_same_key_of_another_account_is_another_job() -> None:
    keys = [
        build_new_job(JobSpec("t", key="k", account=account), Queue.DEFAULT).key for account in (None, "a", "b", "a")
    ]
    assert len(set(keys)) == 3
    assert keys[1] == keys[3]
