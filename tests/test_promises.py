"""Promises of the README that belong to no single part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from postino import Postino, State
from postino.config import load_config

ENQUEUE_AND_WAIT = """
import asyncio, sys, time
from pathlib import Path
from postino import Postino
from postino.config import load_config

async def main():
    app = Postino(load_config(Path(sys.argv[1]), {"database": {"url": sys.argv[2]}}, environment={}))
    job = await app.enqueue("letter.send", {"to": "ada@example.org"})
    print(job.id, flush=True)
    time.sleep(60)

asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/postino.db"
    return str(request.getfixturevalue("postgres_url"))


def enqueue_and_die(folder: Path, url: str) -> UUID:
    caller = subprocess.Popen(
        [sys.executable, "-c", ENQUEUE_AND_WAIT, str(folder), url], stdout=subprocess.PIPE, text=True
    )
    try:
        assert caller.stdout is not None
        return UUID(caller.stdout.readline().strip())
    finally:
        caller.kill()
        caller.communicate()


@pytest.mark.crash
async def test_accepted_job_survives_kill_9_of_its_caller(url: str, tmp_path: Path) -> None:
    app = Postino(load_config(tmp_path, {"database": {"url": url}}, environment={}))
    await app.store.migrate()
    accepted = enqueue_and_die(tmp_path, url)
    async with app:
        job = await app.store.job(accepted)
    assert (job.state, job.payload) == (State.PENDING, b'{"to":"ada@example.org"}')
