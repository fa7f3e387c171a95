"""`postino blackouts`: windows in which nothing is published. What one would move is shown before it is saved."""

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

commands = typer.Typer(help="When nothing is published: list, add, remove.", no_args_is_help=True)
COLUMNS = ("ID", "SCOPE", "NAME", "START", "END", "TIMEZONE", "DAYS", "REASON")
MOVES = ("ID", "CHANNEL", "ACCOUNT", "GOES_AT", "MOVES_TO_AT")
OPTIONS = {"start": "from", "end": "to"}  # what a blackout calls otherwise than it is typed
JsonDict = Mapping[str, Any]
FIRST_WORD = re.compile("(?:start|end|scope|channel|brand|account|timezone|reason)(?=:| is | has | ')")
INNER_WORD = re.compile("(?<=: )scope(?= is)|(?<=make )scope(?= ')|(?<=no room for )(?:channel|brand|account)(?= )")

OfScope = Annotated[
    str | None,
    typer.Option("--scope", help="all, channel, brand or account; as a name is given below.", show_default=False),
]
All = Annotated[bool, typer.Option("--all", help="Everything: the same as --scope all.")]
OfChannel = Annotated[str | None, typer.Option("--channel", help="Only this network or channel.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="Only this brand.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)]
From = Annotated[str | None, typer.Option("--from", metavar="HH:MM", help="When it starts.", show_default=False)]
To = Annotated[str | None, typer.Option("--to", metavar="HH:MM", help="The first minute after it.", show_default=False)]
Zone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Whose clocks: Europe/Rome.", show_default=False)
]
OfDays = Annotated[
    str | None,
    typer.Option("--days", metavar="DAYS", help="sat,sun or mon-fri or 6,0: on which it starts.", show_default=False),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before it is saved.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what it would move; save nothing.")]


@commands.command("list")
@with_target
def list_blackouts(as_json: Json = False, *, target: Target) -> None:
    """All of them, and whom they concern."""
    with open_api(target) as postino:
        blackouts = postino.blackouts.page()["data"]
    if as_json:
        output.print_json_list(blackouts)
        return
    rows = [
        (it["id"], it["scope"], name_of(it), it["start"], it["end"], it["timezone"],
         ",".join(DAYS[day] for day in sorted(it["days"])) or "all", it["reason"])
        for it in blackouts
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no blackouts.")


def name_of(blackout: JsonDict) -> str | None:
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
    """Publish nothing in a window of local time, every day or on some. What is due in it waits for its end."""
    told: dict[str, Any] = {"channel": channel, "brand": brand, "account": account}
    told |= {"scope": parse_scope(scope, everything, told), "start": start, "end": end, "timezone": timezone}
    told |= {"days": parse_days(days), "reason": reason or None}
    desk = BlackoutEditor(target, asks=not yes, saves=not dry_run, as_json=as_json)
    raise typer.Exit(desk.add({name: value for name, value in told.items() if value is not None}))


class BlackoutEditor:
    """Shows what a blackout would move, asks where somebody can answer, and saves it."""

    def __init__(self, target: Target, *, asks: bool, saves: bool, as_json: bool) -> None:
        self.target, self.asks, self.saves, self.as_json = target, asks, saves, as_json

    def add(self, told: dict[str, Any]) -> int:
        """The exit code. Nothing of the queue is held open while somebody thinks."""
        with in_options(), open_api(self.target) as postino:
            if "account" in told:
                told |= {"account": resolve_account(postino, told["account"])}
            blackout: JsonDict = postino.blackouts.preview(**told)
            doubt = describe_unknown_brand(postino, told["brand"]) if blackout["scope"] == Scope.BRAND else None
        self.check()
        if not self.as_json:
            self.show(blackout, doubt)
        saved = self.saves and self.agreed()
        if saved:
            with open_api(self.target) as postino:
                blackout = postino.blackouts.add(**told)
        if self.as_json:
            output.print_json({**blackout, "saved": saved})
        elif saved:
            undo = self.target.format_command(f"blackouts remove {blackout['id']}")
            output.print_line(f"Saved. This undoes it: {undo}")
        else:
            output.print_line("Nothing was saved.")
        return 0 if saved == self.saves else 1

    def check(self) -> None:
        """Target nobody can be asked, somebody has to have said that it is meant."""
        can_ask = output.is_terminal() and sys.stdin.isatty() and not self.as_json
        if self.saves and self.asks and not can_ask:
            ways = "--yes saves it, --dry-run shows what it would move."
            raise WrongUse(f"Nobody can be asked here whether it is meant: {ways} Nothing was saved.", field="yes")

    def show(self, blackout: JsonDict, doubt: str | None) -> None:
        output.print_line(f"Nothing is published: {blackout['sentence']}.")
        print_delayed_jobs(blackout)
        if doubt is not None:
            output.print_hint(doubt)

    def agreed(self) -> bool:
        try:
            return not self.asks or typer.confirm("Save it?")
        except typer.Abort:  # Ctrl-C, or the end of what is typed
            return False


@commands.command("remove")
@with_target
def remove(
    blackout_id: Annotated[str, typer.Argument(metavar="ID", help="The blackout's id.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Publish again in that window; what waits for its end goes out now."""
    wanted = parse_uuid(blackout_id, what="blackout")
    with open_api(target) as postino:
        blackout = postino.blackouts.remove(wanted, reason=reason)
    output.print_result(blackout, f"Removed: {blackout['sentence']}.", as_json=as_json)


@contextmanager
def in_options() -> Iterator[None]:
    """What a blackout calls a field, as it is typed here."""

    def option(found: re.Match[str]) -> str:
        return f"--{OPTIONS.get(found[0], found[0])}"

    try:
        yield
    except WrongUse as refusal:
        said, field = str(refusal), refusal.field
        first = FIRST_WORD.match(said)
        said = said if first is None else option(first) + said[first.end() :]
        blamed = None if field is None else OPTIONS.get(field, field)
        raise WrongUse(INNER_WORD.sub(option, said), field=blamed) from refusal


def print_delayed_jobs(told: JsonDict) -> None:
    rows = [
        (
            it["job_id"],
            it["channel"],
            it["account"],
            output.parse_instant(it["goes_at"]),
            output.parse_instant(it["moves_to"]) or "never",
        )
        for it in told["shifts"]
    ]
    if rows:
        output.print_table(MOVES, rows, title="What would go out later")
    else:
        output.print_line("It moves nothing that waits now.")
    if told["more"]:
        output.print_line(f"And {told['more']:,} more.")
    if told["unlooked"]:
        output.print_hint("More jobs wait than were looked at: it may move others as well.")


def parse_scope(scope: str | None, everything: bool, told: dict[str, Any]) -> str:
    """As it is said; or what is named says it, target only one thing is."""
    given = [name for name, value in told.items() if value is not None]
    if everything:
        given.append(Scope.ALL)
    if len(given) > 1 or (not given and scope is None):
        wanted = "Say whom it concerns, with one of --all, --channel, --brand and --account."
        raise WrongUse(f"{wanted} Nothing was saved.", field="scope")
    if everything and scope not in (None, Scope.ALL):
        raise WrongUse(f"--scope is {scope!r}, which leaves no room for --all: leave one of them out.", field="scope")
    return scope or given[0]
