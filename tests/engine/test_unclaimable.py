"""A row that no claim can take is set aside with its reason; all other jobs run. Nothing is lost."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from postino import Job, Postino, State
from postino.engine import claim_trouble
from postino.engine import worker as worker_module
from postino.stores.records import DeadLetterFilter
from postino.stores.store import Store
from tests.contract.databases import Database, PostgresDatabase, SqliteDatabase
from tests.engine.conftest import run_worker, wait_for, wait_for_end

POISON = {
    "postgres": {
        "time_limit = 1e308": "out of range",
        "time_limit = 1e12": "",  # the claim succeeds, and no program can read the deadline
        "attempts = 2147483647": "out of range",
        "scheduled_at = '200000-01-01'": "",
    },
    "sqlite": {
        "scheduled_at = 'soon'": "soon",
        "created_at = ''": "",
        "run_at = ''": "",
    },
}
CASES = [
    pytest.param(dialect, values, words, marks=[pytest.mark.postgres] if dialect == "postgres" else [])
    for dialect, cases in POISON.items()
    for values, words in cases.items()
]


@pytest.fixture
def database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path}/postino.db" if dialect == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def database(database_url: str, tmp_path: Any) -> Iterator[Database]:
    if database_url.startswith("sqlite"):
        yield SqliteDatabase(tmp_path / "postino.db")
    else:
        yield (database := PostgresDatabase(database_url))
        database.close()


@pytest.mark.parametrize(("dialect", "values", "words"), CASES)
async def test_poisonous_rows_are_set_aside_and_all_others_run(
    app: Postino, database: Database, values: str, words: str
) -> None:
    ran: list[int] = []

    @app.handler("work")
    async def work(job: Job, number: int) -> None:
        ran.append(number)

    lanes: list[dict[str, str]] = [{}, {"account": "a"}, {"brand": "b"}]
    jobs = await app.enqueue_many([{"type": "work", "payload": n, **lane} for n in range(5) for lane in lanes])
    poison = jobs[6:9]
    for job in poison:
        database.sql(f"UPDATE {{jobs}} SET {values} WHERE id = '{job.id}'")
    with capture_logs() as logs:
        async with run_worker(app):
            for job in jobs:
                assert (await wait_for_end(app, job)).state is (State.FAILED if job in poison else State.COMPLETED)
    assert sorted(ran) == sorted([0, 1, 3, 4] * 3)
    letters = await app.store.dead_letters(DeadLetterFilter())
    assert {letter.job.id for letter in letters} == {job.id for job in poison}
    assert {letter.cause for letter in letters} == {"poison"}
    assert all(words in (letter.error or "") for letter in letters)
    logged = [line["job"] for line in logs if line["event"] == "job.unclaimable"]
    assert sorted(logged) == sorted(str(job.id) for job in poison)
    async with run_worker(app):
        for job in poison:
            await app.replay(job.id, force=True)
            await wait_for_end(app, job, State.COMPLETED)


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_many_poisonous_rows_do_not_stop_others(app: Postino, database: Database, dialect: str) -> None:
    @app.handler("work")
    async def work(job: Job) -> None: ...

    await app.enqueue_many([{"type": "work", "brand": "bad"} for _ in range(120)])
    values = "scheduled_at = 'soon'" if dialect == "sqlite" else "time_limit = 1e308"
    database.sql(f"UPDATE {{jobs}} SET {values}")
    good = [await app.enqueue("work", brand="good", account=f"a{n}") for n in range(3)]
    async with run_worker(app):
        for job in good:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
        await wait_for(lambda: count_dead_letters(app.store, 120))


async def count_dead_letters(store: Store, expected: int) -> bool:
    return len(await store.dead_letters(DeadLetterFilter(limit=1000))) == expected


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_poisonous_job_that_may_be_live_waits_for_a_person(
    app: Postino, database: Database, dialect: str
) -> None:
    @app.handler("work")
    async def work(job: Job) -> None: ...

    poison = await app.enqueue("work", account="a")
    values = "scheduled_at = 'soon'" if dialect == "sqlite" else "time_limit = 1e308"
    database.sql(f"UPDATE {{jobs}} SET may_be_live = true, {values}")
    other = await app.enqueue("work", account="a")
    async with run_worker(app):
        assert (await wait_for_end(app, other)).state is State.COMPLETED
        stored = await wait_for_end(app, poison, State.UNCERTAIN)
    assert stored.run_at is None
    assert "No worker can claim this job" in (stored.last_error or "")


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_worker_that_cannot_claim_says_so_until_it_can(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> list[Job]:
        raise ValueError("a bug")

    @app.handler("work")
    async def work(job: Job) -> None: ...

    job = await app.enqueue("work")
    monkeypatch.setattr(app.store, "claim", refuse)
    monkeypatch.setattr(claim_trouble, "REPORT_AFTER", 0.0)
    monkeypatch.setattr(worker_module, "ERROR_RETRY_DELAY", 0.05)
    with capture_logs() as logs:
        async with run_worker(app):
            await wait_for(lambda: has_logged(logs, "worker.cannot_claim"))
            await wait_for(lambda: has_trouble(app.store))
            monkeypatch.undo()
            assert (await wait_for_end(app, job)).state is State.COMPLETED
            await wait_for(lambda: has_logged(logs, "worker.claims_again"))
            [worker] = await app.store.workers()
            assert worker.trouble is None


async def has_trouble(store: Store) -> bool:
    return [worker.trouble for worker in await store.workers()] == ["ValueError: a bug"]


async def has_logged(logs: list[Any], event: str) -> bool:
    return any(line["event"] == event for line in logs)
