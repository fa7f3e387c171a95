"""The application's own connection. What is missing is told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.errors import InvalidSchemaName, UndefinedTable

from examples.snap_processing.app import app


@contextmanager
def connected(first: str) -> Iterator[psycopg.Connection]:
    """Commits at the end, or nothing happened. `first` is what to run before, should a table be missing."""
    try:
        with psycopg.connect(app.config.database_url) as connection:
            yield connection
    except (InvalidSchemaName, UndefinedTable):
        raise SystemExit(f"This database has not what it takes yet. Run this first: {first}") from None
    except psycopg.OperationalError as error:
        raise SystemExit(f"The database does not let us in: {' '.join(str(error).split())}") from None
