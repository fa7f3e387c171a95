"""Wrong arguments of actions raise WrongUse with the field's name on both stores, and nothing is written."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from postino import Conflict, Done, Exponential, Job, JobSpec, NotFound, Postino, Schedule, State, WrongUse
from tests.engine.conftest import run_worker, wait_for_end

Deed = Callable[[Postino, Job], Awaitable[Any]]
NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
LARGE = "x" * 1_000_001
WRONG: list[tuple[str, Deed]] = [
    ("at", lambda app, job: app.reschedule(job.id, NAIVE)),
    ("payload", lambda app, job: app.edit(job.id, LARGE)),
    ("payload", lambda app, job: app.edit(job.id, object())),
    ("payload", lambda app, job: app.replay(job.id, payload=LARGE)),
    ("reason", lambda app, job: app.cancel(job.id, reason="a\x00b")),
    ("reason", lambda app, job: app.cancel(job.id, reason="half \ud83d")),
    ("reason", lambda app, job: app.discard(job.id, reason=None)),  # type: ignore[arg-type]
    ("actor", lambda app, job: app.cancel(job.id, actor="a\x00b")),
    ("job_id", lambda app, job: app.cancel("junk")),  # type: ignore[arg-type]
    ("job_id", lambda app, job: app.cancel(None)),  # type: ignore[arg-type]
    ("job_id", lambda app, job: app.resolve(7, Done(), reason="seen")),  # type: ignore[arg-type]
    ("queue", lambda app, job: app.pause("queue", "urgent")),
    ("queue", lambda app, job: app.resume("queue", "urgent")),
    ("scope", lambda app, job: app.pause("planet", "earth")),
    ("name", lambda app, job: app.pause("account", "a\x00b")),
    ("name", lambda app, job: app.resume("account", "a\x00b")),
    ("name", lambda app, job: app.cap("", 1)),
    ("cap", lambda app, job: app.cap("c", -1)),
    ("cap", lambda app, job: app.cap("c", 1.5)),  # type: ignore[arg-type]
    ("cap", lambda app, job: app.cap("c", True)),
    ("cap", lambda app, job: app.cap("c", 1 << 40)),
    ("backoff", lambda app, job: app.enqueue("t", backoff=5)),  # type: ignore[arg-type]
    ("time_limit", lambda app, job: app.enqueue("t", time_limit=-1)),
    ("type", lambda app, job: app.enqueue_many([{"payload": 1}])),
    ("jobs", lambda app, job: app.enqueue_many([("t",) * 20])),
]


@pytest.mark.parametrize(("field", "deed"), WRONG)
async def test_wrong_argument_names_its_field_and_changes_nothing(app: Postino, field: str, deed: Deed) -> None:
    job = await app.enqueue("t")
    with pytest.raises(WrongUse, match=f"^{field}: ") as refused:
        await deed(app, job)
    assert refused.value.field == field
    assert await app.store.job(job.id) == job
    assert await app.store.gates() == []
    assert await app.store.audit() == []


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("type", {"type": ""}),
        ("type", {"type": "a\x00b"}),
        ("queue", {"queue": "urgent"}),
        ("max_attempts", {"max_attempts": -1}),
        ("time_limit", {"time_limit": -1}),
        ("backoff", {"backoff": 60}),
    ],
)
def test_handler_with_wrong_options_is_refused_at_registration(field: str, wrong: dict[str, Any]) -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    before = dict(app.handlers)
    with pytest.raises(WrongUse, match=f"^{field}: "):
        app.handler(**{"type": "t", **wrong})(lambda: None)
    assert app.handlers == before


@pytest.mark.parametrize("make", [lambda: Schedule([-1]), lambda: Exponential(-1), lambda: Exponential(1, 2, -3)])
def test_negative_backoff_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"^backoff: .* at least"):
        make()


async def test_illegal_state_change_is_a_conflict(app: Postino) -> None:
    job = await app.enqueue("t")
    for move in (app.replay(job.id), app.resolve(job.id, Done(), reason="seen"), app.discard(job.id, reason="no")):
        with pytest.raises(Conflict, match=r"cannot be \w+: .* Nothing was changed"):
            await move
    with pytest.raises(NotFound, match="There is no job"):
        await app.cancel(uuid4())
    assert (await app.store.job(job.id)).state is State.PENDING


async def test_past_time_means_now(app: Postino) -> None:
    app.handler("work")(lambda: None)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", at=datetime.now(UTC) - timedelta(days=1)))
    assert job.state is State.COMPLETED


async def test_payload_arrives_unchanged(app: Postino) -> None:
    arrived: list[Any] = []

    @app.handler("json")
    async def json(job: Job, payload: Any) -> None:
        arrived.append(payload)

    @app.handler("bytes")
    async def raw(job: Job, payload: bytes) -> None:
        arrived.append(payload)

    async with run_worker(app):
        for spec in (JobSpec("json", {"nul": "\x00", "è": "🐦"}), JobSpec("bytes", b"\x00\xff" * 500_000)):
            await wait_for_end(app, (await app.enqueue_many([spec]))[0])
    assert arrived == [{"nul": "\x00", "è": "🐦"}, b"\x00\xff" * 500_000]
