"""The application's own database connection."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.errors import InvalidSchemaName, UndefinedTable

from examples.snap_processing.app import app


@contextmanager
def connect(first: str) -> Iterator[psycopg.Connection]:
    """Open a transaction that commits at the end of the block. `first` is the command that creates missing tables."""
    try:
        with psycopg.connect(app.config.database_url) as connection:
            yield connection
    except (InvalidSchemaName, UndefinedTable):
        raise SystemExit(f"A table is missing in this database. Run this first: {first}") from None
    except psycopg.OperationalError as error:
        raise SystemExit(f"Cannot connect to the database: {' '.join(str(error).split())}") from None
