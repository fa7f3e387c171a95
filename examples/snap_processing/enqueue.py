"""Enqueues snaps: the application's row and Postino's job are written in one transaction, both or neither."""

import sys
from pathlib import Path

import psycopg

from examples.snap_processing.app import Snap, app
from examples.snap_processing.database import connect

HERE = Path(__file__).parent
SNAPS = [Snap("beach.jpg"), Snap("harbour.png"), Snap("dark_alley.jpg"), Snap("notes.txt")]


def enqueue_snaps(connection: psycopg.Connection, snaps: list[Snap]) -> None:
    for snap in snaps:
        # The key makes one job of a file: enqueued again, it returns the same job.
        job = app.sync.enqueue("snap.process", snap, key=snap.file, connection=connection)
        connection.execute(
            "INSERT INTO snap (job_id, file) VALUES (%s, %s) ON CONFLICT (job_id) DO NOTHING", (job.id, snap.file)
        )
        print(f"{snap.file:16} {job.state:10} {job.id}")


def main(files: list[str]) -> None:
    with connect(first=".venv/bin/postino migrate") as connection:
        connection.execute((HERE / "table.sql").read_bytes())
        connection.execute((HERE / "view.sql").read_bytes())
        enqueue_snaps(connection, [Snap(file) for file in files] or SNAPS)


if __name__ == "__main__":
    main(sys.argv[1:])
