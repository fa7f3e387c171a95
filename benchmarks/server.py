"""A private, durable PostgreSQL server for all contestants of a run."""

import psycopg

from tests.servers.postgres import PostgresServer

SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "4GB", "fsync": "on", "synchronous_commit": "on"}
SHOWN = (*SETTINGS, "full_page_writes", "wal_sync_method", "server_version")


class BenchServer(PostgresServer):
    def __init__(self, **settings: str) -> None:
        super().__init__(durable=True)
        self._settings = self._settings | SETTINGS | settings

    def read_settings(self) -> dict[str, str]:
        """Return the settings that the server reports."""
        with psycopg.connect(self.url) as connection:
            return {name: connection.execute("SELECT current_setting(%s)", [name]).fetchall()[0][0] for name in SHOWN}
