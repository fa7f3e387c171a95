"""`postino migrate` and `postino dispatch-due`."""

from typing import TYPE_CHECKING

from postino.cli import output
from postino.cli.connection import Target, open_api, run_on_database
from postino.cli.options import DatabaseUrl, DataDir, Json, with_target

if TYPE_CHECKING:
    from postino.app import App


def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Bring the database up to this release. Safe to run at any time, and by several at once."""

    async def apply(app: "App") -> list[str]:
        return await app.store.migrate()

    applied = run_on_database(Target(data_dir, database_url), apply)
    if as_json:
        output.print_json({"applied": applied})
        return
    for name in applied:
        output.print_line(f"applied {name}")
    if not applied:
        output.print_line("Nothing to do: the database is up to date.")


@with_target
def dispatch_due(as_json: Json = False, *, target: Target) -> None:
    """Mark every due job dispatched and wake the workers, once: for cron. Safe to run by several at once."""
    with open_api(target) as postino:
        told = postino.dispatch_due()
    due = "job" if told["dispatched"] == 1 else "jobs"
    output.print_result(told, f"{told['dispatched']} due {due} dispatched.", as_json=as_json)
