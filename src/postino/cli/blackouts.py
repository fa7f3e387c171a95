"""`postino blackouts`: windows in which nothing is published. What one would move is shown before it is saved."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.days import DAYS, days_from
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import Json, Reason, placed, uuid_from
from postino.cli.session import Where, house
from postino.errors import WrongUse
from postino.values.gate import Scope

commands = typer.Typer(help="When nothing is published: list, add, remove.", no_args_is_help=True)
COLUMNS = ("ID", "SCOPE", "NAME", "START", "END", "TIMEZONE", "DAYS", "REASON")
MOVES = ("ID", "CHANNEL", "ACCOUNT", "GOES_AT", "MOVES_TO_AT")
OPTIONS = {"start": "from", "end": "to"}  # what a blackout calls otherwise than it is typed
Told = Mapping[str, Any]
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
@placed
def list_blackouts(as_json: Json = False, *, where: Where) -> None:
    """All of them, and whom they concern."""
    with house(where) as postino:
        blackouts = postino.blackouts.page()["data"]
    if as_json:
        output.as_list(blackouts)
        return
    rows = [
        (it["id"], it["scope"], name_of(it), it["start"], it["end"], it["timezone"],
         ",".join(DAYS[day] for day in sorted(it["days"])) or "all", it["reason"])
        for it in blackouts
    ]  # fmt: skip
    output.table(COLUMNS, rows, empty="There are no blackouts.")


def name_of(blackout: Told) -> str | None:
    return blackout.get(blackout["scope"])


@commands.command("add")
@placed
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
    where: Where,
) -> None:
    """Publish nothing in a window of local time, every day or on some. What is due in it waits for its end."""
    told: dict[str, Any] = {"channel": channel, "brand": brand, "account": account}
    told |= {"scope": scope_from(scope, everything, told), "start": start, "end": end, "timezone": timezone}
    told |= {"days": days_from(days), "reason": reason or None}
    desk = Desk(where, asks=not yes, saves=not dry_run, as_json=as_json)
    raise typer.Exit(desk.add({name: value for name, value in told.items() if value is not None}))


class Desk:
    """Shows what a blackout would move, asks where somebody can answer, and saves it."""

    def __init__(self, where: Where, *, asks: bool, saves: bool, as_json: bool) -> None:
        self.where, self.asks, self.saves, self.as_json = where, asks, saves, as_json

    def add(self, told: dict[str, Any]) -> int:
        """The exit code. Nothing of the queue is held open while somebody thinks."""
        with in_options(), house(self.where) as postino:
            if "account" in told:
                told |= {"account": account_meant(postino, told["account"])}
            blackout: Told = postino.blackouts.preview(**told)
            doubt = doubt_about_brand(postino, told["brand"]) if blackout["scope"] == Scope.BRAND else None
        self.check()
        if not self.as_json:
            self.show(blackout, doubt)
        saved = self.saves and self.agreed()
        if saved:
            with house(self.where) as postino:
                blackout = postino.blackouts.add(**told)
        if self.as_json:
            output.as_json({**blackout, "saved": saved})
        elif saved:
            undo = self.where.command(f"blackouts remove {blackout['id']}")
            output.write(f"Saved. This undoes it: {undo}")
        else:
            output.write("Nothing was saved.")
        return 0 if saved == self.saves else 1

    def check(self) -> None:
        """Where nobody can be asked, somebody has to have said that it is meant."""
        can_ask = output.is_terminal() and sys.stdin.isatty() and not self.as_json
        if self.saves and self.asks and not can_ask:
            ways = "--yes saves it, --dry-run shows what it would move."
            raise WrongUse(f"Nobody can be asked here whether it is meant: {ways} Nothing was saved.", field="yes")

    def show(self, blackout: Told, doubt: str | None) -> None:
        output.write(f"Nothing is published: {blackout['sentence']}.")
        show_shifts(blackout)
        if doubt is not None:
            output.hint(doubt)

    def agreed(self) -> bool:
        try:
            return not self.asks or typer.confirm("Save it?")
        except typer.Abort:  # Ctrl-C, or the end of what is typed
            return False


@commands.command("remove")
@placed
def remove(
    blackout_id: Annotated[str, typer.Argument(metavar="ID", help="The blackout's id.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Publish again in that window; what waits for its end goes out now."""
    wanted = uuid_from(blackout_id, what="blackout")
    with house(where) as postino:
        blackout = postino.blackouts.remove(wanted, reason=reason)
    output.answer(blackout, f"Removed: {blackout['sentence']}.", as_json=as_json)


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


def show_shifts(told: Told) -> None:
    rows = [
        (it["job_id"], it["channel"], it["account"], output.at(it["goes_at"]), output.at(it["moves_to"]) or "never")
        for it in told["shifts"]
    ]
    if rows:
        output.table(MOVES, rows, title="What would go out later")
    else:
        output.write("It moves nothing that waits now.")
    if told["more"]:
        output.write(f"And {told['more']:,} more.")
    if told["unlooked"]:
        output.hint("More jobs wait than were looked at: it may move others as well.")


def scope_from(scope: str | None, everything: bool, told: dict[str, Any]) -> str:
    """As it is said; or what is named says it, where only one thing is."""
    given = [name for name, value in told.items() if value is not None]
    if everything:
        given.append(Scope.ALL)
    if len(given) > 1 or (not given and scope is None):
        wanted = "Say whom it concerns, with one of --all, --channel, --brand and --account."
        raise WrongUse(f"{wanted} Nothing was saved.", field="scope")
    if everything and scope not in (None, Scope.ALL):
        raise WrongUse(f"--scope is {scope!r}, which leaves no room for --all: leave one of them out.", field="scope")
    return scope or given[0]
