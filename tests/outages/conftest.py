"""An app whose database is behind a proxy, and its log."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import structlog

from postino import Postino
from tests.engine.conftest import make_config
from tests.outages.job_flow import Flow, Logs, Ran, Start
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy


@pytest.fixture
def logs() -> Iterator[Logs]:
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.fixture
async def proxy(postgres_server: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(postgres_server) as proxy:
        yield proxy


@pytest.fixture
async def app(proxy: Proxy, postgres_url: str, tmp_path: Path) -> AsyncIterator[Postino]:
    app = Postino(make_config(tmp_path, proxy.url(postgres_url)))
    await app.store.migrate()
    async with app:
        yield app


@pytest.fixture
def flow(app: Postino) -> Flow:
    return Flow(app)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start worker processes that record their jobs in the test folder; kill those that are left at the end."""
    with ExitStack() as ending:

        def start_one(url: str, program: str = "tests.engine.recording_worker") -> "subprocess.Popen[str]":
            environment = os.environ | {"RECORDS": str(tmp_path), "RECORDER_DATABASE": url}
            command = [sys.executable, "-m", program]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            ending.callback(process.communicate)
            ending.callback(process.kill)
            return process

        yield start_one


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    """Read which jobs started in those processes, and how often."""

    def read() -> Counter[str]:
        record = tmp_path / "record"
        return Counter(line.split()[0] for line in record.read_text().splitlines()) if record.exists() else Counter()

    return read
