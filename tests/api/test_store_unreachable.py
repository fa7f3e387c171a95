"""While the database is unreachable requests get 503 with Retry-After; then everything continues."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from postino import Postino
from postino.config import load_config
from tests.api.browser import log_in, with_key
from tests.api.processes import Server, eventually
from tests.conftest import go_without
from tests.servers import ServerMissing
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import Standby


async def migrate(folder: Path, url: str) -> None:
    app = Postino(load_config(folder, {"database": {"url": url}}, environment={}))
    await app.store.migrate()
    await app.close()


@pytest.mark.slow
def test_unreachable_database_gets_503_without_its_address(folder: Path, private_postgres: PostgresServer) -> None:
    with private_postgres.database() as url:
        asyncio.run(migrate(folder, url))
        with Server(folder, POSTINO_DATABASE_URL=url) as server:
            assert server.api.get("/v1/posts") == {"data": [], "next_cursor": None}
            program = with_key(server, "owner")  # which is looked up before a body is read
            job = {"type": "report", "run_at": "2035-01-01T00:00:00Z"}
            private_postgres.stop()
            for reply in (
                server.api.ask("GET", "/v1/posts"),
                server.api.ask("POST", "/v1/jobs", job, Idempotency_Key="away"),
                program.ask("GET", "/v1/posts"),
                program.ask("POST", "/v1/jobs", job),
                log_in(server, "ada"),
            ):
                assert reply.status == 503, reply
                assert reply.headers["content-type"] == "application/problem+json"
                assert int(reply.headers["retry-after"]) > 0
                assert url not in reply.json["detail"]
            assert server.api.ask("GET", "/health/ready").status == 503
            assert server.api.ask("GET", "/health/live").status == 200
            private_postgres.start()
            eventually(lambda: server.api.ask("GET", "/v1/posts").status == 200)
            replies = [server.api.ask("POST", "/v1/jobs", job, Idempotency_Key="away") for _ in range(2)]
            assert ({reply.status for reply in replies}, replies[0].body) == ({201}, replies[1].body)
            assert len(server.api.get("/v1/jobs")["data"]) == 1


@pytest.mark.slow
def test_standby_gets_503_until_it_takes_over(folder: Path, private_postgres: PostgresServer) -> None:
    url = private_postgres.create_database()
    with ExitStack() as ending:
        try:
            standby = ending.enter_context(Standby(private_postgres))
        except ServerMissing as missing:
            go_without(str(missing))
        asyncio.run(migrate(folder, url))
        standby.catch_up()
        server = ending.enter_context(Server(folder, POSTINO_DATABASE_URL=standby.get_url_like(url)))
        for path in ("/health/ready", "/v1/database"):
            reply = server.api.ask("GET", path)
            assert (reply.status, reply.headers["content-type"]) == (503, "application/problem+json")
        standby.take_over()
        eventually(lambda: server.api.ask("GET", "/health/ready").status == 200)
