"""kill -9 the API server before and after every write that only requests make.

The effect of the request is there fully or not at all, the audit trail is intact, and the repeated request ends in the
one right state.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from postino import Postino
from tests.api.processes import Client, Reply
from tests.crash.points import EVERYTHING, REQUESTS
from tests.crash.requests import recipes
from tests.crash.requests.recipes import RECIPES, LibraryCall, Request, State
from tests.crash.requests.server import ADDRESS_FILE, STATE_FILE, open_app
from tests.crash.requests.state import create_over_api, fill, set_clock_back
from tests.crash.verdict import list_unreachable
from tests.crash.workers import Process, Workers, open_workers
from tests.servers.postgres import PostgresServer

SIDES = ("before", "after")
ANY = "?"  # one of them, chosen by the seed
STORES = ["sqlite", *([pytest.param("postgres", marks=pytest.mark.postgres)] if EVERYTHING else [])]
CASES = [f"{name}.{side}" for name in REQUESTS for side in (SIDES if EVERYTHING else (ANY,))]


class TemplateDatabase:
    """The data directory and database that every case gets a copy of."""

    def __init__(self, folder: Path, url: str, server: PostgresServer | None) -> None:
        self.folder = folder
        self.url = url
        self.server = server

    def copy(self, folder: Path) -> str:
        """Copy the data directory into this folder; return the URL of a copy of the database."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        if self.server is None:
            return f"sqlite:///{folder}/postino.db"
        return self.server.create_database(self.url.rpartition("/")[2])


@pytest.fixture(scope="module", params=STORES)
def template(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, forker_address: str
) -> TemplateDatabase:
    folder = tmp_path_factory.mktemp("template")
    server: PostgresServer | None = None
    url = f"sqlite:///{folder}/postino.db"
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        assert server is not None
        url = server.create_database()
    asyncio.run(prepare(folder, url, forker_address))
    return TemplateDatabase(folder, url, server)


async def prepare(folder: Path, url: str, forker_address: str) -> None:
    app = open_app(folder, url)
    await app.store.migrate()
    async with open_workers(forker_address, folder, url) as processes, run_server(processes, folder) as client:
        state = await asyncio.to_thread(create_over_api, client)
    set_clock_back(app)
    async with app:
        state |= await fill(app)
    (folder / STATE_FILE).write_text(json.dumps(state))


@pytest.fixture
def database_url(template: TemplateDatabase, tmp_path: Path) -> Iterator[str]:
    url = template.copy(tmp_path)
    yield url
    if template.server is not None:
        template.server.drop_database(url)


@pytest.fixture
async def app(database_url: str, tmp_path: Path) -> AsyncIterator[Postino]:
    """Open the application in this process, to read the database."""
    async with open_app(tmp_path, database_url) as app:
        yield app
        assert await list_unreachable(app.store) == []


def test_every_write_that_only_requests_make_has_a_recipe() -> None:
    assert set(RECIPES) == set(REQUESTS)


@pytest.mark.crash
@pytest.mark.parametrize("case", CASES)
async def test_a_request_killed_here_took_effect_fully_or_not_at_all(
    app: Postino, workers: Workers, tmp_path: Path, chance: random.Random, case: str
) -> None:
    name, _, side = case.replace(ANY, chance.choice(SIDES)).partition(".")
    recipe, state = RECIPES[name], json.loads((tmp_path / STATE_FILE).read_text())
    untouched = await recipe.look(app, state)
    await die_at(f"{name}.{side}:1", recipe, name, workers, tmp_path, state)

    undone = untouched if recipe.undone is None else recipe.undone
    assert await recipe.look(app, state) == (recipe.done if side == "after" else undone)
    async with run_server(workers, tmp_path) as client:
        await check_audit_trail(client)
        await repeat(recipe, name, workers, client, state, done=side == "after")
        assert await recipe.look(app, state) == recipe.final.get(side, recipe.done)
        await check_audit_trail(client)


async def die_at(crash: str, recipe: recipes.Recipe, name: str, workers: Workers, folder: Path, state: State) -> None:
    """Start a process with this crash point armed and make it pass the point."""
    if isinstance(recipe, LibraryCall):
        victim = await workers.start(crash=crash, calls=name)
    else:
        assert isinstance(recipe, Request)
        victim = await workers.start(crash=crash, serves=True)
        client = await wait_for_address(victim, folder)
        with suppress(OSError, http.client.HTTPException):
            reply = await asyncio.to_thread(send, recipe, client, state)
            pytest.fail(f"{crash} was never reached: {reply}")
    assert await victim.wait(60) == -signal.SIGKILL, f"{crash} was never reached"


async def repeat(
    recipe: recipes.Recipe, name: str, workers: Workers, client: Client, state: State, *, done: bool
) -> None:
    if isinstance(recipe, LibraryCall):
        again = await workers.start(calls=name)
        assert await again.wait(60) == 0
        return
    assert isinstance(recipe, Request)
    reply = await asyncio.to_thread(send, recipe, client, state)
    assert reply.status == (recipe.again or recipe.status if done else recipe.status), reply


def send(recipe: Request, client: Client, state: State) -> Reply:
    headers = {name: text.format(**state) for name, text in recipe.headers.items()}
    if recipe.method == "POST":
        headers["Idempotency-Key"] = "the same request"
    caller = Client(client.url, {} if recipe.headers or recipe.path == "/v1/login" else client.headers)
    return caller.ask(recipe.method, recipe.path.format(**state), recipe.body, **headers)


@asynccontextmanager
async def run_server(processes: Workers, folder: Path) -> AsyncIterator[Client]:
    """Run an API server on this data directory until the end."""
    process = await processes.start(serves=True)
    yield await wait_for_address(process, folder)
    process.signal(signal.SIGTERM)
    assert await process.wait(60) == 0


async def wait_for_address(process: Process, folder: Path) -> Client:
    address = folder / ADDRESS_FILE
    while not address.exists():
        assert not process.ended.done(), (folder / "log").read_text()
        await asyncio.sleep(0.01)
    url = address.read_text()
    address.unlink()
    return Client(url, {"Authorization": f"Bearer {(folder / 'api.key').read_text().strip()}"})


async def check_audit_trail(client: Client) -> None:
    audit = await asyncio.to_thread(client.get, "/v1/audit?verify=true&limit=1")
    assert audit["verified"], audit
