"""Read one value from the database of an application, whatever its dialect."""

from typing import Any

import apsw
import asyncpg

from postino import Postino
from postino.stores.postgres import Postgres
from postino.stores.sqlite import Sqlite


async def read_value(app: Postino, sql: str) -> Any:
    """Return the first value of a query in which {} stands for the prefix of Postino's tables."""
    driver = app.store.driver
    if isinstance(driver, Sqlite):
        connection = apsw.Connection(str(driver.path))
        try:
            return connection.execute(sql.format("postino_")).get
        finally:
            connection.close()
    assert isinstance(driver, Postgres)
    server = await asyncpg.connect(driver.url)
    try:
        return await server.fetchval(sql.format("postino."))
    finally:
        await server.close()
