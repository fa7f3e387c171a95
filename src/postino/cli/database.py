"""`postino migrate` and `postino dispatch-due`."""

from typing import TYPE_CHECKING

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.session import Where, perform, perform_closed

if TYPE_CHECKING:
    from postino.app import App


def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Bring the database up to this release. Safe to run at any time, and by several at once."""

    async def apply(app: "App") -> list[str]:
        return await app.store.migrate()

    applied = perform_closed(Where(data_dir, database_url), apply)
    if as_json:
        output.as_json({"applied": applied})
        return
    for name in applied:
        output.write(f"applied {name}")
    if not applied:
        output.write("Nothing to do: the database is up to date.")


def dispatch_due(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Mark every due job dispatched and wake the workers, once: for cron. Safe to run by several at once."""

    async def dispatch(app: "App") -> int:
        return await app.dispatch_due()

    dispatched = perform(Where(data_dir, database_url), dispatch)
    if as_json:
        output.as_json({"dispatched": dispatched})
    else:
        output.write(f"{dispatched} due {'job' if dispatched == 1 else 'jobs'} dispatched.")
