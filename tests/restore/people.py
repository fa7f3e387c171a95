"""What people do about a database: they run a command, or send a request to a server without a worker."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from tests.api.processes import Server, make_environment
from tests.restore.drill import Site

REASON = "I looked"
SECONDS = 60


@asynccontextmanager
async def open_server(site: Site, machine: str = "server") -> AsyncIterator[Server]:
    """Run `postino server` on this database."""
    server = await asyncio.to_thread(Server, site.drill.data_dir, **make_settings(site, machine))
    with server:
        yield server
        await asyncio.to_thread(server.interrupt)


def make_settings(site: Site, machine: str) -> dict[str, str]:
    return {
        "POSTINO_DATABASE_URL": site.harness.workers.url,
        "POSTINO_SANDBOX_URL": site.drill.oracle.url,
        "POSTINO_STATE_DIR": str(site.drill.get_state_dir(machine)),
    }


async def run_command(site: Site, *words: str) -> tuple[int, Any]:
    """Run `postino` with these words on this database; return its exit code and what it printed."""
    command = [sys.executable, "-m", "postino", *words, "--data-dir", str(site.drill.data_dir), "--json"]
    environment = make_environment() | make_settings(site, "person")
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


async def answer_by_command(site: Site, answer: str, at: datetime | None = None) -> tuple[int, Any]:
    """Run `postino database accept`."""
    words = [] if at is None else ["--at", at.isoformat()]
    return await run_command(site, "database", "accept", answer, "--reason", REASON, *words)


async def answer_by_request(server: Server, answer: str, at: datetime | None = None) -> tuple[int, Any]:
    """Send `POST /v1/database/accept`."""
    body = {"answer": answer, "reason": REASON} | ({} if at is None else {"at": at.isoformat()})
    reply = await asyncio.to_thread(server.api.ask, "POST", "/v1/database/accept", body)
    return reply.status, reply.json
