"""The engine's fixtures, for tests that kill processes on purpose."""

from tests.engine.conftest import app, database_url
from tests.engine.test_processes import records, start

__all__ = ["app", "database_url", "records", "start"]
