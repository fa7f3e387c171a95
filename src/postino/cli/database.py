"""`postino migrate` and `postino dispatch-due`."""

from typing import TYPE_CHECKING

from postino.cli import output
from postino.cli.connection import Target, open_api, run_on_database
from postino.cli.options import DatabaseUrl, DataDir, Json, with_target

if TYPE_CHECKING:
    from postino.app import App


def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Create the database or upgrade it to this release.

    Safe to run at any time and concurrently.
    """

    async def apply(app: "App") -> list[str]:
        return await app.store.migrate()

    applied = run_on_database(Target(data_dir, database_url), apply)
    if as_json:
        output.print_json({"applied": applied})
        return
    for name in applied:
        output.print_line(f"applied {name}")
    if not applied:
        output.print_line("The database is up to date.")


@with_target
def dispatch_due(as_json: Json = False, *, target: Target) -> None:
    """Wake the workers for all due jobs, once.

    Meant for cron; safe to run concurrently.
    """
    with open_api(target) as postino:
        result = postino.dispatch_due()
    noun = "job" if result["dispatched"] == 1 else "jobs"
    output.print_result(result, f"{result['dispatched']} due {noun} dispatched.", as_json=as_json)
