"""The server killed right after any 201 or 202: what it answered is there, and the same request brings the same answer.

Routes come from openapi.json: a new one that answers 201 or 202 fails until it has a row.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from postino import Postino
from postino.api.api_key_file import read_or_create_key
from postino.cli.up import add_sandbox_accounts
from postino.config import load_config
from tests.api.processes import DEADLINE, Client, Process, Reply, Server, eventually, make_environment

pytestmark = [pytest.mark.slow, pytest.mark.crash]
BLUESKY = "bluesky:postcard.test"
LATER = "2035-06-01T12:00:00Z"
BLACKOUT = {"scope": "brand", "brand": "nobody", "start": "22:00", "end": "23:00", "timezone": "Europe/Rome"}
FAULT = {"network": "mastodon", "fault": "slow", "times": 1, "params": {"seconds": 1}}
Found = Callable[[Client, Any], bool]


def there(path: str) -> Found:
    """Under its id at this address."""
    return lambda client, value: client.ask("GET", path.format(value["id"])).status == 200


def fetch_items(path: str) -> Found:
    return lambda client, value: value["id"] in [one["id"] for one in client.get(path)["data"]]


def lets_in(client: Client, value: Any) -> bool:
    return Client(client.url, {"Authorization": f"Bearer {value['key']}"}).ask("GET", "/v1/me").status == 200


def import_file(client: Client, value: Any) -> bool:
    posts = client.get("/v1/posts?text=Imported")["data"]
    return len(posts) == 1 and client.get(f"/v1/imports/{value['id']}")["state"] == "saved"


@dataclass(frozen=True)
class Row:
    """A request, its response, how to see its effect, and the response to its repetition."""

    path: str
    body: Any
    status: int
    found: Found
    again: int | None = None  # None: word for word the same
    query: str = ""
    names: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.path.format(**self.names) + self.query

    @property
    def key(self) -> str:
        return f"{self.address} {str(self.body)[:100]}"

    def send(self, client: Client) -> Reply:
        return client.ask("POST", self.address, self.body, Idempotency_Key=self.key)


def now(text: str) -> Row:
    return Row("/v1/posts", {"text": text, "accounts": [BLUESKY]}, 202, there("/v1/posts/{}"))


def rows(draft: str, token: str) -> list[Row]:
    job = {"type": "report", "run_at": LATER}
    planned = {"text": "Planned", "accounts": [BLUESKY], "at": LATER}
    account = {"network": "bluesky", "handle": "ada.test", "credentials": {"password": "x"}}
    return [
        now("Now, with all the others"),
        Row("/v1/posts", planned, 201, there("/v1/posts/{}")),
        Row("/v1/drafts", {"text": "A draft"}, 201, there("/v1/drafts/{}")),
        Row("/v1/drafts/{draft_id}/schedule", {"at": LATER}, 201, there("/v1/posts/{}"), names={"draft_id": draft}),
        Row("/v1/imports", b"", 201, import_file, query=f"?commit=true&token={token}"),
        Row("/v1/jobs", job, 201, there("/v1/jobs/{}")),
        Row("/fp-publisher/v1/jobs", job | {"channel": "former"}, 201, there("/v1/jobs/{}")),
        Row("/v1/accounts", account, 201, there("/v1/accounts/{}"), again=409),
        Row("/v1/blackouts", BLACKOUT, 201, fetch_items("/v1/blackouts"), again=409),
        Row("/v1/users", {"name": "ada", "role": "viewer"}, 201, there("/v1/users/{}"), again=409),
        Row("/v1/api-keys", {"name": "new", "role": "viewer"}, 201, lets_in, again=409),
        Row("/v1/sandbox/faults", FAULT, 201, fetch_items("/v1/sandbox/faults"), again=201),
    ]


@dataclass
class Deployment:
    """A database and simulated networks for servers and workers."""

    folder: Path
    settings: dict[str, str]
    sandbox: Client

    @contextmanager
    def server(self) -> Iterator[Server]:
        with Server(self.folder, **self.settings) as server:
            yield server

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "postino", "worker", "--data-dir", str(self.folder)]
        process = subprocess.Popen(command, env=make_environment() | self.settings, stderr=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.terminate()
            result = process.communicate(timeout=DEADLINE)[1]
        assert process.returncode in (0, -signal.SIGKILL), result

    def texts(self) -> list[str]:
        return [entry["text"] for entry in self.sandbox.get("/_sandbox/published")["data"]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def deployment(request: pytest.FixtureRequest, folder: Path) -> Iterator[Deployment]:
    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'postino.db'}"
        if request.param == "postgres":
            url = stack.enter_context(request.getfixturevalue("postgres_server").database())
        read_or_create_key(folder / "api.key")
        sandbox = stack.enter_context(Process(folder, "sandbox"))
        asyncio.run(prepare(folder, url))
        settings = {"POSTINO_DATABASE_URL": url, "POSTINO_SANDBOX_URL": sandbox.ready["url"]}
        yield Deployment(folder, settings, Client(sandbox.ready["url"]))


async def prepare(folder: Path, url: str) -> None:
    app = Postino(load_config(folder, {"database": {"url": url}}, environment={}))
    try:
        await app.store.migrate()
        await add_sandbox_accounts(app)
    finally:
        await app.close()


def test_confirmed_writes_survive_a_killed_server(deployment: Deployment) -> None:
    with deployment.server() as server:
        draft = server.api.ask("POST", "/v1/drafts", {"text": "Drafted", "accounts": [BLUESKY]}).json["id"]
        file = f"text,accounts,at\nImported,{BLUESKY},{LATER}\n".encode()
        table = rows(draft, server.api.ask("POST", "/v1/imports", file).json["token"])
        assert {row.path for row in table} == list_created(server.api)
        with ThreadPoolExecutor(len(table)) as pool:
            replies = list(pool.map(lambda row: row.send(server.api), table))
        server.kill_group()
    assert [reply.status for reply in replies] == [row.status for row in table], replies

    alone = [now("Now, alone"), Row("/v1/jobs", {"type": "alone", "run_at": LATER}, 201, there("/v1/jobs/{}"))]
    for row in alone:
        with deployment.server() as server:
            assert kill_at_first_byte(server, row) == row.status

    with deployment.server() as server:
        for row, reply in zip(table, replies, strict=True):
            assert row.found(server.api, reply.json), (row, reply)
            again = row.send(server.api)
            assert again.status == (row.again or reply.status), (row, again)
            assert row.again is not None or again.body == reply.body, (row, reply, again)
        for row in alone:
            first, second = row.send(server.api), row.send(server.api)
            assert (first.status, first.body) == (row.status, second.body)
            assert row.found(server.api, first.json)
        assert len(server.api.get("/v1/jobs?type=alone")["data"]) == 1
        for kind in ("report", "alone"):  # for which the worker has no handler
            chosen = {"action": "cancel", "filter": {"type": kind}}
            assert server.api.ask("POST", "/v1/jobs/bulk", chosen).status == 200
        with deployment.worker():
            wanted = ["Now, alone", "Now, with all the others"]
            eventually(lambda: {*wanted} <= {*deployment.texts()}, deployment.texts)
            fields = {"status": "published", "limit": "10"}
            path = "/v1/posts?" + "&".join(f"{name}={text}" for name, text in fields.items())
            eventually(lambda: len(server.api.get(path)["data"]) == len(wanted))
        assert sorted(deployment.texts()) == wanted


def list_created(client: Client) -> set[str]:
    """Return the paths of operations that create something or accept it for later."""
    paths = client.get("/v1/openapi.json")["paths"]
    answers = {(path, status) for path, item in paths.items() for one in item.values() for status in one["responses"]}
    return {path for path, status in answers if status in ("201", "202")}


def kill_at_first_byte(server: Server, row: Row) -> int:
    connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=DEADLINE)
    headers = {**server.api.headers, "Idempotency-Key": row.key}
    connection.request("POST", row.address, json.dumps(row.body).encode(), headers)
    status = connection.getresponse().status
    os.killpg(server.process.pid, signal.SIGKILL)
    server.end()
    connection.close()
    return status


@pytest.mark.parametrize("deployment", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_server_and_worker_run_without_each_other(deployment: Deployment) -> None:
    with deployment.server() as server:
        with deployment.worker() as worker:
            server.api.ask("POST", "/v1/posts", now("While both are there").body)
            eventually(lambda: deployment.texts() == ["While both are there"])
            worker.kill()
        waiting = server.api.ask("POST", "/v1/posts", now("While no worker is there").body)
        assert waiting.status == 202
        soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
        due = server.api.ask("POST", "/v1/posts", now("While no server is there").body | {"at": soon})
        assert due.status == 201
        server.kill_group()
    wanted = ["While both are there", "While no worker is there", "While no server is there"]
    with deployment.worker():
        eventually(lambda: deployment.texts() == wanted, deployment.texts)
    with deployment.server() as server:
        for reply in (waiting, due):
            assert server.api.get(f"/v1/posts/{reply.json['id']}")["status"] == "published"
    assert deployment.texts() == wanted


def test_stopping_server_finishes_requests_in_progress(folder: Path) -> None:
    with Server(folder) as server, ThreadPoolExecutor(1) as pool:
        job = json.dumps({"type": "report", "run_at": LATER}).encode()
        connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=DEADLINE)
        connection.putrequest("POST", "/v1/jobs")
        for name, text in (*server.api.headers.items(), ("Content-Length", str(len(job)))):
            connection.putheader(name, text)
        connection.endheaders(job[:10])
        server.api.get("/v1/jobs")  # by now it has begun with the other one
        server.process.terminate()
        ended = pool.submit(server.end)
        eventually(lambda: is_closed(server.api))
        connection.send(job[10:])
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["type"]) == (201, "report")
        connection.close()
        assert "Traceback" not in ended.result(DEADLINE)
        assert server.process.returncode == 0
    with Server(folder) as server:
        assert len(server.api.get("/v1/jobs?type=report")["data"]) == 1


def is_closed(client: Client) -> bool:
    """Tell whether new connections are refused."""
    try:
        client.ask("GET", "/health/live")
    except ConnectionRefusedError:
        return True
    return False
