"""A person answers by a command or through a server. A server without a worker shows the question."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.restore.drill import ASKABLE, SILENT, Drill, Site
from tests.restore.people import answer_by_command, answer_by_request, open_server

pytestmark = [pytest.mark.slow, pytest.mark.crash]

OK, WRONG, CONFLICT = {0, 200}, {2, 422}, {4, 409}  # exit codes, and HTTP statuses


async def prepare_question(drill: Drill) -> None:
    """Let a machine publish, and be off for a night."""
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
    await drill.run(lambda: drill.place.move_back(12))


async def test_server_without_a_worker_shows_the_question_and_takes_the_answer(drill: Drill) -> None:
    await prepare_question(drill)
    async with drill.open() as site:
        await site.start("new")
        await site.wait_for_standing("asked", "stranger")
        async with open_server(site) as server:
            assert server.api.get("/health/ready")["database"] == "asked"
            shown = server.api.get("/v1/database")
            assert (shown["standing"], shown["cause"]) == ("asked", "stranger")
            assert "`postino database accept moved --reason WHY`" in shown["next"]
            posts = await site.schedule(ASKABLE, SILENT)
            body = {"text": "accepted by the server", "accounts": [posts[0].account.id]}
            accepted = server.api.ask("POST", "/v1/posts", body)
            assert accepted.status == 202, "the server accepts posts meanwhile"
            await site.expect_nothing_sent(*posts)
            status, answered = await answer_by_request(server, "moved")
            assert (status, answered["standing"]) == (200, "open")
            await site.expect_published_once(*posts)
        memory = drill.get_state_dir("server")
        assert not (memory / "witness").exists(), "a server sends nothing, so it remembers nothing that it sent"


@pytest.mark.parametrize("way", ["command", "request"])
async def test_every_answer_by_command_and_by_request(drill: Drill, way: str) -> None:
    await prepare_question(drill)
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(drill.open())
        answer: Callable[..., Awaitable[tuple[int, Any]]]
        if way == "request":
            server = await stack.enter_async_context(open_server(site))

            async def answer(*words: Any) -> tuple[int, Any]:
                return await answer_by_request(server, *words)
        else:

            async def answer(*words: Any) -> tuple[int, Any]:
                return await answer_by_command(site, *words)

        posts = await site.schedule(ASKABLE, SILENT)
        await site.start("new")
        await site.wait_for_standing("asked", "stranger")
        for words in (("restored", await read_last_use(site, seconds=1)), ("moved", await read_last_use(site))):
            code, _ = await answer(*words)
            assert code in WRONG
        await site.expect_nothing_sent(*posts)

        code, answered = await answer("moved")
        assert code in OK
        assert (answered["standing"], answered["held"]) == ("open", [])
        await site.expect_published_once(*posts)

        code, answered = await answer("copy")
        assert code in OK
        assert answered["standing"] == "copy"
        posts = await site.schedule(ASKABLE, SILENT)
        await site.expect_nothing_sent(*posts)
        code, _ = await answer("moved")
        assert code in CONFLICT

        code, answered = await answer("restored", await read_last_use(site, seconds=-60))
        assert code in OK
        assert (answered["standing"], set(answered["held"])) == ("open", {str(posted.id) for posted in posts})
        await site.expect_published_once(posts[0])
        await site.wait_for_person(posts[1])
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_nothing_sent(posts[1])


async def read_last_use(site: Site, seconds: float = 0.0) -> datetime:
    """Return when the database was last in use, and so many seconds more."""
    state = await site.harness.app.store.database_state()
    assert state.alive_at is not None
    return state.alive_at + timedelta(seconds=seconds)
