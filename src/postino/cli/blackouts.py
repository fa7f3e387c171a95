"""`postino blackouts`: manage blackouts. `add` shows the jobs that a blackout delays before it saves it."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, parse_uuid, with_target
from postino.cli.resolve_name import describe_unknown_brand, resolve_account
from postino.cli.weekdays import DAYS, parse_days
from postino.errors import WrongUse
from postino.values.gate import Scope

commands = typer.Typer(
    help="List, add and remove blackouts: times in which nothing is published.", no_args_is_help=True
)
COLUMNS = ("ID", "SCOPE", "NAME", "START", "END", "TIMEZONE", "DAYS", "REASON")
MOVES = ("ID", "CHANNEL", "ACCOUNT", "GOES_AT", "MOVES_TO_AT")
OPTIONS = {"start": "from", "end": "to"}  # options that are not named like the API field
JsonDict = Mapping[str, Any]
FIRST_WORD = re.compile("(?:start|end|scope|channel|brand|account|timezone|reason)(?=:| is | has | ')")
FIELD = re.compile("`(scope|channel|brand|account)`")

OfScope = Annotated[
    str | None,
    typer.Option(
        "--scope", help="all, channel, brand or account. Default: from the options below.", show_default=False
    ),
]
All = Annotated[bool, typer.Option("--all", help="Everything; same as --scope all.")]
OfChannel = Annotated[
    str | None, typer.Option("--channel", help="Only this network or other channel.", show_default=False)
]
OfBrand = Annotated[str | None, typer.Option("--brand", help="Only this brand.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)]
From = Annotated[
    str | None, typer.Option("--from", metavar="HH:MM", help="Local time at which it starts.", show_default=False)
]
To = Annotated[
    str | None, typer.Option("--to", metavar="HH:MM", help="Local time at which it ends.", show_default=False)
]
Zone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Time zone, such as Europe/Rome.", show_default=False)
]
OfDays = Annotated[
    str | None,
    typer.Option(
        "--days",
        metavar="DAYS",
        help="Days on which it starts: sat,sun or mon-fri. Default: every day.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Save without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the jobs it would delay; save nothing.")]


@commands.command("list")
@with_target
def list_blackouts(as_json: Json = False, *, target: Target) -> None:
    """List all blackouts."""
    with open_api(target) as postino:
        blackouts = postino.blackouts.list()["data"]
    if as_json:
        output.print_json_list(blackouts)
        return
    rows = [
        (it["id"], it["scope"], get_scope_name(it), it["start"], it["end"], it["timezone"],
         ",".join(DAYS[day] for day in sorted(it["days"])) or "all", it["reason"])
        for it in blackouts
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no blackouts.")


def get_scope_name(blackout: JsonDict) -> str | None:
    return blackout.get(blackout["scope"])


@commands.command("add")
@with_target
def add(
    scope: OfScope = None,
    everything: All = False,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    start: From = None,
    end: To = None,
    timezone: Zone = None,
    days: OfDays = None,
    reason: Reason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Add a blackout: a window of local time, daily or on some days.

    Posts that are due in it wait for its end.
    """
    fields: dict[str, Any] = {"channel": channel, "brand": brand, "account": account}
    fields |= {"scope": parse_scope(scope, everything, fields), "start": start, "end": end, "timezone": timezone}
    fields |= {"days": parse_days(days), "reason": reason or None}
    editor = BlackoutEditor(target, asks=not yes, saves=not dry_run, as_json=as_json)
    raise typer.Exit(editor.add({name: value for name, value in fields.items() if value is not None}))


class BlackoutEditor:
    """Shows which jobs a blackout delays, asks for confirmation, and saves it."""

    def __init__(self, target: Target, *, asks: bool, saves: bool, as_json: bool) -> None:
        self.target, self.asks, self.saves, self.as_json = target, asks, saves, as_json

    def add(self, fields: dict[str, Any]) -> int:
        """Return the exit code. The queue is not held open while the user thinks."""
        with in_options(), open_api(self.target) as postino:
            if "account" in fields:
                fields |= {"account": resolve_account(postino, fields["account"])}
            blackout: JsonDict = postino.blackouts.preview(**fields)
            hint = describe_unknown_brand(postino, fields["brand"]) if blackout["scope"] == Scope.BRAND else None
        self.check()
        if not self.as_json:
            self.show(blackout, hint)
        saved = self.saves and self.confirm()
        if saved:
            with open_api(self.target) as postino:
                blackout = postino.blackouts.add(**fields)
        if self.as_json:
            output.print_json({**blackout, "saved": saved})
        elif saved:
            undo = self.target.format_command(f"blackouts remove {blackout['id']}")
            output.print_line(f"Saved. To undo: {undo}")
        else:
            output.print_line("Nothing was saved.")
        return 0 if saved == self.saves else 1

    def check(self) -> None:
        """Raise WrongUse if --yes is missing and no terminal can ask for confirmation."""
        can_ask = output.is_terminal() and sys.stdin.isatty() and not self.as_json
        if self.saves and self.asks and not can_ask:
            message = (
                "There is no terminal to ask for confirmation. Pass --yes to save, or --dry-run to see the effect."
            )
            raise WrongUse(f"{message} Nothing was saved.", field="yes")

    def show(self, blackout: JsonDict, hint: str | None) -> None:
        output.print_line(f"Nothing is published: {blackout['sentence']}.")
        print_delayed_jobs(blackout)
        if hint is not None:
            output.print_hint(hint)

    def confirm(self) -> bool:
        try:
            return not self.asks or typer.confirm("Save it?")
        except typer.Abort:  # Ctrl-C or end of input
            return False


@commands.command("remove")
@with_target
def remove(
    blackout_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the blackout.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Remove a blackout.

    Posts that waited for its end go out now.
    """
    checked = parse_uuid(blackout_id, what="blackout")
    with open_api(target) as postino:
        blackout = postino.blackouts.remove(checked, reason=reason)
    output.print_result(blackout, f"Removed: {blackout['sentence']}.", as_json=as_json)


@contextmanager
def in_options() -> Iterator[None]:
    """Replace field names in errors with the options of this command."""

    def to_option(match: re.Match[str]) -> str:
        return f"--{OPTIONS.get(match[0], match[0])}"

    try:
        yield
    except WrongUse as error:
        message, field = str(error), error.field
        first = FIRST_WORD.match(message)
        message = message if first is None else to_option(first) + message[first.end() :]
        option = None if field is None else OPTIONS.get(field, field)
        raise WrongUse(FIELD.sub(r"--\1", message), field=option) from error


def print_delayed_jobs(blackout: JsonDict) -> None:
    rows = [
        (
            it["job_id"],
            it["channel"],
            it["account"],
            output.parse_instant(it["goes_at"]),
            output.parse_instant(it["moves_to"]) or "never",
        )
        for it in blackout["shifts"]
    ]
    if rows:
        output.print_table(MOVES, rows, title="Jobs that would be delayed")
    else:
        output.print_line("The blackout delays no pending job.")
    if blackout["more"]:
        output.print_line(f"And {blackout['more']:,} more.")
    if not blackout["complete"]:
        output.print_hint("Not all pending jobs were checked: the blackout may delay others as well.")


def parse_scope(scope: str | None, everything: bool, names: dict[str, Any]) -> str:
    """Return --scope, or the scope of the only option that names something."""
    given = [name for name, value in names.items() if value is not None]
    if everything:
        given.append(Scope.ALL)
    if len(given) > 1 or (not given and scope is None):
        message = "Pass exactly one of --all, --channel, --brand and --account."
        raise WrongUse(f"{message} Nothing was saved.", field="scope")
    if everything and scope not in (None, Scope.ALL):
        raise WrongUse(f"--scope {scope!r} contradicts --all. Omit one of the two.", field="scope")
    return scope or given[0]
