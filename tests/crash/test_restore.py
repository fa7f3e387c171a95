"""kill -9 while a worker examines a database that was put back, moved or unused for long."""

import json
import signal
from collections.abc import Callable
from typing import Any

import apsw
import psycopg
import pytest

from postino import Postino, State
from postino.stores.records import AuditContext
from postino.values.database import DatabaseAnswer, DatabaseState, Standing
from tests.crash.points import EXAMINING, POINTS
from tests.crash.sql import PATIENCE_MS
from tests.crash.workers import Workers
from tests.engine.conftest import wait_for, wait_for_end

LONG_AGO = "2000-01-01T00:00:00.000000Z"
CASES = [point for point in POINTS if point.startswith(EXAMINING)]
Change = Callable[[DatabaseState], str]
ELSEWHERE = json.dumps(["elsewhere", "", "", ""])
CHANGES: dict[str, Change] = {
    "record_pulse": lambda _: f"alive_at = '{LONG_AGO}'",
    "ask_person": lambda _: f"place = '{ELSEWHERE}'",
    "reopen_database": lambda _: "standing = 'asked', cause = 'stranger', reason = 'x', since_at = alive_at",
    "enter_lost_intents": lambda _: f"pulse = pulse - 1, alive_at = '{LONG_AGO}'",
    "call_roll": lambda state: f"place = '{name_neighbour(state.here)}'",
    "sign_roll": lambda _: "pulse = pulse - 1",
    "end_roll_call": lambda _: "pulse = pulse - 1",
}


def list_cases() -> list[Any]:
    """Return every point on both databases."""
    postgres = [pytest.param("postgres", point, marks=pytest.mark.postgres) for point in CASES]
    return [*(("sqlite", point) for point in CASES), *postgres]


def change_state(app: Postino, change: str) -> None:
    url = app.config.database_url
    if url.startswith("sqlite:///"):
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        file.set_busy_timeout(PATIENCE_MS)
        file.execute(f"UPDATE postino_database_state SET {change}")
        file.close()
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"UPDATE postino.database_state SET {change}".encode())


def name_neighbour(place: str) -> str:
    """Return a place from which the database may have been moved: another timeline, or a path that is gone."""
    parts = json.loads(place)
    parts[2] = "/gone" if parts[0] == "sqlite" else "00000000"
    return json.dumps(parts)


@pytest.mark.crash
@pytest.mark.parametrize(("database_url", "crash"), list_cases(), indirect=["database_url"])
async def test_worker_killed_here_leaves_the_database_to_the_next(app: Postino, workers: Workers, crash: str) -> None:
    name = crash.partition(".")[0]
    first, before = await workers.start(), await app.enqueue("plain", 0.0)
    await wait_for_end(app, before)
    first.signal(signal.SIGTERM)
    assert await first.wait(60) == 0
    change_state(app, CHANGES[name](await app.store.database_state()))
    job = await app.enqueue("plain", 0.0)
    victim = await workers.start(crash=f"{crash}:1")
    assert await victim.wait(60) == -signal.SIGKILL, f"{crash} was never reached"
    await workers.start()
    answer = {"ask_person": DatabaseAnswer.MOVED, "enter_lost_intents": DatabaseAnswer.RESTORED}.get(name)
    if answer is not None:

        async def is_asked() -> bool:
            return (await app.store.database_state()).standing is Standing.ASKED

        await wait_for(is_asked)
        await app.store.accept_database(answer, None, "another", "next era", AuditContext("maria", "because"))
    assert (await wait_for_end(app, job)).state is State.COMPLETED
