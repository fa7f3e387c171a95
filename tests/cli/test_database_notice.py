"""What `postino up` and `postino server` print about a database that may be a copy or a backup."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from postino import Postino
from postino.cli.connection import Target
from postino.cli.database_notice import watch_database
from postino.cli.server import check_store
from postino.config import Config
from postino.errors import StoreUnreachable
from postino.stores.records import AuditContext
from postino.values.database import Cause, DatabaseAnswer, DatabaseState, Standing
from tests.adoption import adopt_database

OPEN = DatabaseState(here="here")
ASKED = DatabaseState(here="here", standing=Standing.ASKED, cause=Cause.STRANGER, reason="Nobody knows it.")
COPY = DatabaseState(here="here", standing=Standing.COPY, reason="It is a copy.")


async def test_each_change_is_printed_once_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    class EndOfStates(BaseException):
        pass

    away, odd = StoreUnreachable("away"), RuntimeError("unexpected")
    states: Iterator[DatabaseState | Exception] = iter([OPEN, ASKED, ASKED, away, ASKED, odd, odd, COPY, COPY, OPEN])

    async def read_state() -> DatabaseState:
        for state in states:
            if isinstance(state, Exception):
                raise state
            return state
        raise EndOfStates

    with pytest.raises(EndOfStates):
        await watch_database(read_state, Target(Path("/srv/postino")), interval=0)
    asked, failed, copy, opened = capsys.readouterr().err.splitlines()
    assert asked.startswith("Nothing is sent from this database. Nobody knows it. Say what it is: `")
    assert "database accept moved --reason WHY --data-dir /srv/postino`" in asked
    assert failed.endswith("looks again: unexpected")
    assert "It is a copy." in copy
    assert "database accept restored --reason WHY --data-dir /srv/postino`" in copy
    assert opened == "The database is open again: workers send from it."


def test_server_says_at_its_start_that_the_database_is_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = Target(tmp_path)
    config = target.config()

    async def start_on_a_copy(config: Config) -> None:
        async with Postino(config) as app:
            await app.store.migrate()
            await adopt_database(app.store, "one", "first era")
            why = AuditContext("maria", "a test")
            await app.store.accept_database(DatabaseAnswer.COPY, None, "two", "second era", why)
        await check_store(config, target)

    asyncio.run(start_on_a_copy(config))
    assert f"database accept restored --reason WHY --data-dir {tmp_path}`" in capsys.readouterr().err
