"""`postino audit`: list the audit trail, and verify that it is complete and unchanged."""

from itertools import islice
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, with_target

commands = typer.Typer(help="List and verify the audit trail.", no_args_is_help=True)
COLUMNS = ("SEQ", "AT", "ACTOR", "ACTION", "SUBJECT", "REASON")


@commands.command("list")
@with_target
def list_entries(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Number of entries.")] = 50,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """List the newest entries: who did what, and why."""
    with open_api(target) as postino:
        entries = [*islice(postino.audit(limit=min(limit, 100)), limit)]
    if as_json:
        output.print_json_list(entries)
        return
    rows = [
        (it["seq"], output.parse_instant(it["at"]), it["actor"], it["action"], it["subject"], it["reason"])
        for it in entries
    ]
    output.print_table(COLUMNS, rows, empty="The audit trail is empty.")


@commands.command("verify")
@with_target
def verify(as_json: Json = False, *, target: Target) -> None:
    """Verify that no entry was changed, removed or added without the vault key.

    Prints the number and the hash of the last entry: note them elsewhere, and compare later.
    """
    with open_api(target) as postino:
        report = postino.verify_audit()
    if as_json:
        output.print_json(report)
    elif report["verified"]:
        output.print_line(f"The audit trail is complete and unchanged: {report['entries']} entries.")
        output.print_line(f"last entry   {report['entries']} {report['head']}")
        anchor = report["anchor"]
        remembered = "none yet" if anchor is None else f"{anchor['seq']} {anchor['hash']}"
        output.print_line(f"remembered   {remembered}")
        if report["unproven_entries"]:
            output.print_line(f"unproven     the first {report['unproven_entries']}, written without the vault key")
    else:
        output.print_line(f"The audit trail is not intact. {report['problem']}")
    if not report["verified"]:
        raise typer.Exit(1)
