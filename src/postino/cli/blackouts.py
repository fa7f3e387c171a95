"""`postino blackouts`: windows in which nothing is published. What one would move is shown before it is saved."""

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.days import DAYS, days_from
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason, uuid_from
from postino.cli.session import Where, actor, perform
from postino.errors import WrongUse
from postino.gate import Scope
from postino.publishing.shapes import plain_fields

if TYPE_CHECKING:
    from postino.engine.gatekeeper import Shifts
    from postino.rules.blackout import Blackout
    from postino.wiring import Postino

commands = typer.Typer(help="When nothing is published: list, add, remove.", no_args_is_help=True)
COLUMNS = ("ID", "SCOPE", "NAME", "START", "END", "TIMEZONE", "DAYS", "REASON")
MOVES = ("ID", "CHANNEL", "ACCOUNT", "GOES_AT", "MOVES_TO_AT")
OPTIONS = {"start": "from", "end": "to"}  # what a blackout calls otherwise than it is typed
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
To = Annotated[
    str | None, typer.Option("--to", metavar="HH:MM", help="The first minute after it.", show_default=False)
]
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
def list_blackouts(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """All of them, and whom they concern."""
    blackouts = perform(Where(data_dir, database_url), lambda app: app.gatekeeper.blackouts())
    if as_json:
        output.as_list([shape_of(blackout) for blackout in blackouts])
        return
    rows = [
        (str(it.id), it.scope.value, it.name or None, f"{it.start:%H:%M}", f"{it.end:%H:%M}", it.timezone,
         ",".join(DAYS[day] for day in sorted(it.days)) or "all", it.reason)
        for it in blackouts
    ]  # fmt: skip
    output.table(COLUMNS, rows, empty="There are no blackouts.")


@commands.command("add")
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
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Publish nothing in a window of local time, every day or on some. What is due in it waits for its end."""
    told: dict[str, Any] = {"channel": channel, "brand": brand, "account": account}
    told |= {"scope": scope_from(scope, everything, told), "start": start, "end": end, "timezone": timezone}
    told |= {"days": days_from(days), "reason": reason or None}
    desk = Desk(Where(data_dir, database_url), asks=not yes, saves=not dry_run, as_json=as_json)
    raise typer.Exit(desk.add(told, reason))


class Desk:
    """Shows what a blackout would move, asks where somebody can answer, and saves it."""

    def __init__(self, where: Where, *, asks: bool, saves: bool, as_json: bool) -> None:
        self.where, self.asks, self.saves, self.as_json = where, asks, saves, as_json

    def add(self, told: dict[str, Any], reason: str) -> int:
        """The exit code. Nothing of the queue is held open while somebody thinks."""
        blackout, shifts, doubt = perform(self.where, lambda app: drafted(app, told))
        self.check()
        if not self.as_json:
            self.show(blackout, shifts, doubt)
        saved = self.saves and self.agreed()
        if saved:
            perform(self.where, lambda app: app.gatekeeper.keep(blackout, reason=reason, actor=actor()))
        if self.as_json:
            output.as_json(shape_of(blackout) | shape_of_shifts(shifts) | {"saved": saved})
        elif saved:
            output.write(f"Saved. This undoes it: {self.where.command(f'blackouts remove {blackout.id}')}")
        else:
            output.write("Nothing was saved.")
        return 0 if saved == self.saves else 1

    def check(self) -> None:
        """Where nobody can be asked, somebody has to have said that it is meant."""
        can_ask = output.is_terminal() and sys.stdin.isatty() and not self.as_json
        if self.saves and self.asks and not can_ask:
            ways = "--yes saves it, --dry-run shows what it would move."
            raise WrongUse(f"Nobody can be asked here whether it is meant: {ways} Nothing was saved.", field="yes")

    def show(self, blackout: "Blackout", shifts: "Shifts", doubt: str | None) -> None:
        from postino.rules.blackout import sentence

        output.write(f"Nothing is published: {sentence(blackout)}.")
        show_shifts(shifts)
        if doubt is not None:
            output.hint(doubt)

    def agreed(self) -> bool:
        try:
            return not self.asks or typer.confirm("Save it?")
        except typer.Abort:  # Ctrl-C, or the end of what is typed
            return False


@commands.command("remove")
def remove(
    blackout_id: Annotated[str, typer.Argument(metavar="ID", help="The blackout's id.", show_default=False)],
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Publish again in that window; what waits for its end goes out now."""
    from postino.rules.blackout import sentence

    wanted = uuid_from(blackout_id, what="blackout")
    blackout = perform(
        Where(data_dir, database_url),
        lambda app: app.gatekeeper.remove_blackout(wanted, reason=reason, actor=actor()),
    )
    if as_json:
        output.as_json(shape_of(blackout))
    else:
        output.write(f"Removed: {sentence(blackout)}.")


async def drafted(app: "Postino", told: dict[str, Any]) -> "tuple[Blackout, Shifts, str | None]":
    """What is meant, what it would move, and what to say of a brand that nobody has."""
    gatekeeper = app.gatekeeper
    if told["account"] is not None:
        told = told | {"account": await account_meant(app, told["account"])}
    try:
        blackout = await gatekeeper.draft(told)
    except WrongUse as refusal:
        raise in_options(refusal) from refusal
    doubt = await doubt_about_brand(app, blackout.name) if blackout.scope is Scope.BRAND else None
    return blackout, await gatekeeper.preview(blackout), doubt


def in_options(refusal: WrongUse) -> WrongUse:
    """What a blackout calls a field, as it is typed here."""

    def option(found: re.Match[str]) -> str:
        return f"--{OPTIONS.get(found[0], found[0])}"

    said = str(refusal)
    first = FIRST_WORD.match(said)
    said = said if first is None else option(first) + said[first.end() :]
    field = refusal.field
    return WrongUse(INNER_WORD.sub(option, said), field=None if field is None else OPTIONS.get(field, field))


def show_shifts(shifts: "Shifts") -> None:
    rows = [(str(it.job_id), it.channel, it.account, it.goes_at, it.moves_to or "never") for it in shifts.first]
    if rows:
        output.table(MOVES, rows, title="What would go out later")
    else:
        output.write("It moves nothing that waits now.")
    if shifts.more:
        output.write(f"And {shifts.more:,} more.")
    if shifts.unlooked:
        output.hint("More jobs wait than were looked at: it may move others as well.")


def shape_of(blackout: "Blackout") -> dict[str, Any]:
    from postino.rules.blackout import sentence, told_of

    return told_of(blackout) | {"sentence": sentence(blackout)}


def shape_of_shifts(shifts: "Shifts") -> dict[str, Any]:
    return {"shifts": [plain_fields(it) for it in shifts.first], "more": shifts.more, "unlooked": shifts.unlooked}


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
