"""From settings to running parts: the only file that names implementations."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from postino import config as configuration
from postino.app import App, Parts
from postino.config import Config
from postino.engine.call import Door
from postino.errors import ConfigError
from postino.store import Store
from postino.stores.sql_store import SqlStore
from postino.stores.sqlite import Sqlite
from postino.wakeup import Wakeup
from postino.wakeups.datagram import DatagramWakeup


class Postino(App):
    """A queue of durable jobs: `Postino("postgresql://…")`, `Postino(config)`, or the default data directory."""

    def __init__(self, where: str | Config | None = None) -> None:
        config = where if isinstance(where, Config) else configuration.load(flags={"database": {"url": where}})
        super().__init__(parts(config))


def parts(config: Config) -> Parts:
    path = sqlite_path(config.database_url)
    if path is None:
        make_store, wakeup = postgres_parts(config)
        store = make_store()
        return Parts(config, store, wakeup, store.open, make_store, make_door)
    driver = Sqlite(path)
    store, wakeup = SqlStore(driver), DatagramWakeup(path)

    async def make_ready() -> None:
        if await driver.is_new():
            await store.migrate()  # an embedded database without anything has nothing to lose
        await store.open()

    return Parts(config, store, wakeup, make_ready, lambda: SqlStore(Sqlite(path)), make_door)


def make_door() -> AbstractAsyncContextManager[Door]:
    """Imported when something is about to leave: a caller that only enqueues has no use for it."""
    from postino.outbound.http import Door as OutboundDoor

    return OutboundDoor()


def postgres_parts(config: Config) -> tuple[Callable[[], Store], Wakeup]:
    try:
        from postino.stores.postgres import Postgres
        from postino.wakeups.postgres import PostgresWakeup
    except ModuleNotFoundError as error:
        raise ConfigError(
            "database.url: PostgreSQL needs the extra: pip install 'postino[postgres]'.", field="database.url"
        ) from error
    url, database = config.database_url, config.database

    def make_store() -> Store:
        return SqlStore(
            Postgres(url, connections=database.connections, statement_seconds=database.statement_timeout)
        )

    return make_store, PostgresWakeup(url)


def sqlite_path(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///")).absolute() if url.startswith("sqlite:///") else None
