"""A standby is read-only. Postino says so, waits, and continues when the standby takes over."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postino.engine.store_retry import retry_forever
from postino.engine.witness import Witness
from postino.errors import StoreUnreachable
from postino.stores.postgres import Postgres
from postino.stores.store import Store
from postino.values.database import Standing
from tests.conftest import go_without
from tests.servers import ServerMissing
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import Standby

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


async def test_standby_is_unreachable_until_it_takes_over(private_postgres: PostgresServer, tmp_path: Path) -> None:
    url = private_postgres.create_database()
    async with AsyncExitStack() as ending:
        try:
            standby = ending.enter_context(Standby(private_postgres))
        except ServerMissing as missing:
            go_without(str(missing))
        store = Store(Postgres(url))
        await store.migrate()
        witness = Witness(store, tmp_path)
        ending.push_async_callback(witness.close)
        await witness.check(await store.database_state(), None)
        await store.close()
        await asyncio.to_thread(standby.catch_up)
        store = witness.store = Store(Postgres(standby.get_url_like(url)))
        ending.push_async_callback(store.close)
        with pytest.raises(StoreUnreachable, match=r"is read-only \(recovery is in progress\): it is a standby"):
            await store.database_state()
        with pytest.raises(StoreUnreachable, match="it is a standby"):
            await store.poll("w1")
        waiting = asyncio.create_task(retry_forever(store.database_state))
        await asyncio.to_thread(standby.take_over)
        await witness.check(await waiting, witness.memory)
        assert (await store.database_state()).standing is Standing.ROLL_CALL
