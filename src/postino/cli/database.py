"""`postino migrate`, `postino dispatch-due`, and `postino database`: what the database is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from postino.cli import output
from postino.cli.connection import Target, audit_actor, open_api, run_on_database
from postino.cli.errors import use_option_names
from postino.cli.options import DatabaseUrl, DataDir, Json, RequiredReason, check_reason, with_target

if TYPE_CHECKING:
    from postino.stores.records import StoredSettings
    from postino.wiring import Postino

commands = typer.Typer(help="Show whether Postino sends from the database, and say what it is.", no_args_is_help=True)


def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Create the database or upgrade it, and store the blackout windows and caps of the settings.

    Safe to run at any time and concurrently.
    """

    async def apply(app: "Postino") -> "tuple[list[str], StoredSettings]":
        applied = await app.store.migrate()
        return applied, await app.apply_settings(actor=audit_actor())

    applied, stored = run_on_database(Target(data_dir, database_url), apply)
    if as_json:
        output.print_json({"applied": applied, "settings_version": stored.version})
        return
    for name in applied:
        output.print_line(f"applied {name}")
    if stored.is_new:
        output.print_line(f"stored the blackout windows and caps of the settings (version {stored.version})")
    if not applied and not stored.is_new:
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


@commands.command("show")
@with_target
def show_database(as_json: Json = False, *, target: Target) -> None:
    """Show whether Postino sends from the database, and if not, why."""
    with open_api(target) as postino:
        database = postino.database.get()
    print_database(database, as_json=as_json)


@commands.command("accept")
@with_target
def accept_database(
    answer: Annotated[
        Literal["moved", "copy", "restored"],
        typer.Argument(
            metavar="ANSWER",
            help="moved: the only one, nothing was lost. copy: another one is in use. restored: from a backup.",
            show_default=False,
        ),
    ],
    reason: RequiredReason,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="With restored: what happened after this time is lost.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Say what the database is, so that Postino sends from it or leaves it closed."""
    with use_option_names(), open_api(target) as postino:
        database = postino.database.accept(answer, at=at, reason=check_reason(reason))
    print_database(database, as_json=as_json)
    if as_json:
        return
    if held := len(database["held"]):
        command = target.format_command("posts resolve --held --send-again --reason WHY")
        output.print_hint(
            f"{held} due posts may have been published. Postino asks their networks first. Posts of networks that"
            " cannot tell wait for you: look at the accounts, resolve those that are live one by one, then send the"
            f" others: `{command}`."
        )
    if later := len(database["later"]):
        output.print_hint(
            f"{later} posts are not due yet, and go out at their time. Cancellations and edits after the backup are"
            " lost: look at `postino posts list --status scheduled`."
        )


def print_database(database: Mapping[str, Any], *, as_json: bool) -> None:
    sentence = "The database is open: workers send from it."
    if database["standing"] != "open":
        sentence = f"Nothing is sent from this database. {database['reason']}"
    output.print_result(database, sentence, as_json=as_json)
    if database["next"] and not as_json:
        output.print_hint(database["next"])
    if not as_json:
        for trouble in database["troubles"]:
            output.print_hint(f"A worker remembers what it sends in memory only: {trouble}")
