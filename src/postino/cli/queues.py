"""`postino queues`: how much waits where, and what may not start."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import Json, Reason, placed
from postino.cli.session import Where, house
from postino.errors import WrongUse
from postino.values.gate import Scope

if TYPE_CHECKING:
    from postino.cli.session import QueueApi

commands = typer.Typer(help="What waits where; pause, resume, cap, warm.", no_args_is_help=True)
MOST_NAMED, MOST_DIGITS = 10, 9
DEPTHS = ("CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT")

OfQueue = Annotated[str | None, typer.Argument(metavar="[QUEUE]", help="high, default or low.", show_default=False)]
OfChannel = Annotated[str | None, typer.Option("--channel", help="A channel instead.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="A brand instead.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="An account instead.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
Told = Mapping[str, Any]


@commands.command("list")
@placed
def list_queues(as_json: Json = False, *, where: Where) -> None:
    """How many jobs wait and run, what is closed or capped and why, and which workers there are."""
    with house(where) as postino:
        queues = {**postino.queues(), "workers": postino.workers()["data"]}
    if as_json:
        output.as_json(queues)
    else:
        show_lists(queues, where)


def show_lists(queues: Told, where: Where) -> None:
    counts = ("channel", "queue", "pending", "running", "uncertain")
    rows = [(*(it[name] for name in counts), output.at(it["oldest_run_at"])) for it in queues["data"]]
    output.table(DEPTHS, rows, empty="No job is waiting or running.")
    if queues["gates"]:
        shut = [
            (it["scope"], it["name"] or None, it["kind"], output.at(it["since_at"]), output.at(it["until_at"]),
             it["reason"])
            for it in queues["gates"]
        ]  # fmt: skip
        output.table(("CLOSED", "NAME", "BY", "SINCE_AT", "UNTIL_AT", "REASON"), shut, title="Gates")
    if queues["caps"]:
        output.table(("CHANNEL", "AT_MOST"), sorted(queues["caps"].items()), title="Caps")
    if queues["workers"]:
        seen = [
            (it["id"], it["host"], it["pid"], output.at(it["started_at"]), "registered" if it["here"] else "gone")
            for it in queues["workers"]
        ]
        output.table(("ID", "HOST", "PID", "STARTED_AT", "STATE"), seen, title="Workers")
    else:
        output.hint(f"No worker is running: nothing will start. {where.starting()}")


@commands.command("pause")
@placed
def pause(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Let nothing of a queue, channel, brand or account start, or nothing at all; what runs goes on to its end."""
    scope, name = gate_from(queue, channel, brand, account, everything)
    with house(where) as postino:
        meant = meant_by(postino, scope, name)
        doubt = None if as_json else doubt_about(postino, scope, meant)
        gate = postino.gates.pause(scope.value, meant, reason=reason)
    undo = where.command(f"queues resume {option_of(scope, meant)}")
    output.answer(gate, f"{called(gate)} is paused. This undoes it: {undo}", as_json=as_json)
    if doubt is not None:
        output.hint(doubt)


@commands.command("resume")
@placed
def resume(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Let it start again."""
    scope, name = gate_from(queue, channel, brand, account, everything)
    with house(where) as postino:
        gate = postino.gates.resume(scope.value, meant_by(postino, scope, name), reason=reason)
    output.answer(gate, f"{called(gate)} goes on.", as_json=as_json)


# A number below zero is no option: it is read, and refused by its name.
@commands.command("cap", context_settings={"ignore_unknown_options": True})
@placed
def cap(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A network or a channel.", show_default=False)],
    most: Annotated[
        str, typer.Argument(metavar="AT_MOST", help="So many at once; or the word usual.", show_default=False)
    ],
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Let at most so many jobs of a channel run at once, over all workers; usual: as many as the settings say."""
    wanted = cap_from(most)
    with house(where) as postino:
        capped = postino.gates.cap(channel, wanted, reason=reason)
    output.answer(capped, told_of_cap(channel, capped["cap"]), as_json=as_json)


def cap_from(most: str) -> int | None:
    from postino.engine.checks import MAX_CAP

    if most == "usual":
        return None
    if most.isascii() and most.isdigit() and len(most) <= MOST_DIGITS and int(most) <= MAX_CAP:
        return int(most)
    message = f"AT_MOST: {most!r:.200} is neither a whole number from 0 to {MAX_CAP:,} nor the word usual."
    raise WrongUse(f"{message} Nothing was changed.", field="most")


def told_of_cap(channel: str, holds: int | None) -> str:
    match holds:
        case None:
            return f"As many jobs of the channel {channel} run at once as there are."
        case 0:
            return f"No job of the channel {channel} starts."
        case 1:
            return f"At most 1 job of the channel {channel} runs at once."
        case _:
            return f"At most {holds:,} jobs of the channel {channel} run at once."


@commands.command("warm")
@placed
def warm(
    channel: Annotated[str | None, typer.Option("--channel", help="A channel.", show_default=False)] = None,
    account: Annotated[str | None, typer.Option("--account", help="An account.", show_default=False)] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """End a cool-down before its time: the network asked for it, and may ask again."""
    scope, name = gate_from(None, channel, None, account)
    with house(where) as postino:
        meant = meant_by(postino, scope, name)
        gate = postino.gates.warm("account" if scope is Scope.ACCOUNT else "channel", meant, reason=reason)
    output.answer(gate, f"{called(gate)} is not cooled any more.", as_json=as_json)


def gate_from(
    queue: str | None, channel: str | None, brand: str | None, account: str | None, everything: bool = False
) -> tuple[Scope, str]:
    from postino.engine.checks import check_text, parse_queue

    said = {Scope.QUEUE: queue, Scope.CHANNEL: channel, Scope.BRAND: brand, Scope.ACCOUNT: account}
    given = [(scope, name) for scope, name in said.items() if name is not None]
    if len(given) + everything != 1:
        raise WrongUse("Name one thing, as --help shows it.")
    if everything:
        return Scope.ALL, ""
    scope, name = given[0]
    if scope is Scope.QUEUE:
        return scope, parse_queue(name).label
    check_text(scope.value, name)
    return scope, name


def meant_by(postino: "QueueApi", scope: Scope, name: str) -> str:
    return account_meant(postino, name) if scope is Scope.ACCOUNT else name


def doubt_about(postino: "QueueApi", scope: Scope, name: str) -> str | None:
    """What to say where nothing is held up by it now."""
    if scope is Scope.BRAND:
        return doubt_about_brand(postino, name)
    if scope is not Scope.CHANNEL:
        return None
    others = sorted({line["channel"] for line in postino.queues()["data"]})
    shown = f" The channels that have some: {', '.join(others[:MOST_NAMED])}." if others else ""
    return None if name in others else f"No job of the channel {name} is waiting or running now.{shown}"


def called(gate: Told) -> str:
    return "Everything" if gate["scope"] == Scope.ALL else f"The {gate['scope']} {gate['name']}"


def option_of(scope: Scope, name: str) -> str:
    match scope:
        case Scope.ALL:
            return "--all"
        case Scope.QUEUE:
            return name
        case _:
            return f"--{scope} {shlex.quote(name)}"
