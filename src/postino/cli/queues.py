"""`postino queues`: how much waits where, and what may not start."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, with_target
from postino.cli.resolve_name import describe_unknown_brand, resolve_account
from postino.errors import WrongUse
from postino.values.gate import Scope

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

commands = typer.Typer(help="What waits where; pause, resume, cap, warm.", no_args_is_help=True)
MOST_NAMED, MOST_DIGITS = 10, 9
DEPTHS = ("CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT")

OfQueue = Annotated[str | None, typer.Argument(metavar="[QUEUE]", help="high, default or low.", show_default=False)]
OfChannel = Annotated[str | None, typer.Option("--channel", help="A channel instead.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="A brand instead.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="An account instead.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
JsonDict = Mapping[str, Any]


@commands.command("list")
@with_target
def list_queues(as_json: Json = False, *, target: Target) -> None:
    """How many jobs wait and run, what is closed or capped and why, and which workers there are."""
    with open_api(target) as postino:
        queues = {**postino.queues(), "workers": postino.workers()["data"]}
    if as_json:
        output.print_json(queues)
    else:
        show_lists(queues, target)


def show_lists(queues: JsonDict, target: Target) -> None:
    counts = ("channel", "queue", "pending", "running", "uncertain")
    rows = [(*(it[name] for name in counts), output.parse_instant(it["oldest_run_at"])) for it in queues["data"]]
    output.print_table(DEPTHS, rows, empty="No job is waiting or running.")
    if queues["gates"]:
        shut = [
            (it["scope"], it["name"] or None, it["kind"], output.parse_instant(it["since_at"]),
             output.parse_instant(it["until_at"]), it["reason"])
            for it in queues["gates"]
        ]  # fmt: skip
        output.print_table(("CLOSED", "NAME", "BY", "SINCE_AT", "UNTIL_AT", "REASON"), shut, title="Gates")
    if queues["caps"]:
        output.print_table(("CHANNEL", "AT_MOST"), sorted(queues["caps"].items()), title="Caps")
    if queues["workers"]:
        seen = [
            (
                it["id"],
                it["host"],
                it["pid"],
                output.parse_instant(it["started_at"]),
                "registered" if it["here"] else "gone",
            )
            for it in queues["workers"]
        ]
        output.print_table(("ID", "HOST", "PID", "STARTED_AT", "STATE"), seen, title="Workers")
    else:
        output.print_hint(f"No worker is running: nothing will start. {target.suggest_worker()}")


@commands.command("pause")
@with_target
def pause(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Let nothing of a queue, channel, brand or account start, or nothing at all; what runs goes on to its end."""
    scope, name = parse_gate(queue, channel, brand, account, everything)
    with open_api(target) as postino:
        meant = resolve_scope_name(postino, scope, name)
        doubt = None if as_json else describe_unknown_scope(postino, scope, meant)
        gate = postino.gates.pause(scope.value, meant, reason=reason)
    undo = target.format_command(f"queues resume {format_scope_option(scope, meant)}")
    output.print_result(gate, f"{called(gate)} is paused. This undoes it: {undo}", as_json=as_json)
    if doubt is not None:
        output.print_hint(doubt)


@commands.command("resume")
@with_target
def resume(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Let it start again."""
    scope, name = parse_gate(queue, channel, brand, account, everything)
    with open_api(target) as postino:
        gate = postino.gates.resume(scope.value, resolve_scope_name(postino, scope, name), reason=reason)
    output.print_result(gate, f"{called(gate)} goes on.", as_json=as_json)


# A number below zero is no option: it is read, and refused by its name.
@commands.command("cap", context_settings={"ignore_unknown_options": True})
@with_target
def cap(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A network or a channel.", show_default=False)],
    most: Annotated[
        str, typer.Argument(metavar="AT_MOST", help="So many at once; or the word usual.", show_default=False)
    ],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Let at most so many jobs of a channel run at once, over all workers; usual: as many as the settings say."""
    wanted = parse_cap(most)
    with open_api(target) as postino:
        capped = postino.gates.cap(channel, wanted, reason=reason)
    output.print_result(capped, describe_cap(channel, capped["cap"]), as_json=as_json)


def parse_cap(most: str) -> int | None:
    from postino.engine.checks import MAX_CAP

    if most == "usual":
        return None
    if most.isascii() and most.isdigit() and len(most) <= MOST_DIGITS and int(most) <= MAX_CAP:
        return int(most)
    message = f"AT_MOST: {most!r:.200} is neither a whole number from 0 to {MAX_CAP:,} nor the word usual."
    raise WrongUse(f"{message} Nothing was changed.", field="most")


def describe_cap(channel: str, holds: int | None) -> str:
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
@with_target
def warm(
    channel: Annotated[str | None, typer.Option("--channel", help="A channel.", show_default=False)] = None,
    account: Annotated[str | None, typer.Option("--account", help="An account.", show_default=False)] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """End a cool-down before its time: the network asked for it, and may ask again."""
    scope, name = parse_gate(None, channel, None, account)
    with open_api(target) as postino:
        meant = resolve_scope_name(postino, scope, name)
        gate = postino.gates.warm("account" if scope is Scope.ACCOUNT else "channel", meant, reason=reason)
    output.print_result(gate, f"{called(gate)} is not cooled any more.", as_json=as_json)


def parse_gate(
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


def resolve_scope_name(postino: "QueueApi", scope: Scope, name: str) -> str:
    return resolve_account(postino, name) if scope is Scope.ACCOUNT else name


def describe_unknown_scope(postino: "QueueApi", scope: Scope, name: str) -> str | None:
    """What to say where nothing is held up by it now."""
    if scope is Scope.BRAND:
        return describe_unknown_brand(postino, name)
    if scope is not Scope.CHANNEL:
        return None
    others = sorted({line["channel"] for line in postino.queues()["data"]})
    shown = f" The channels that have some: {', '.join(others[:MOST_NAMED])}." if others else ""
    return None if name in others else f"No job of the channel {name} is waiting or running now.{shown}"


def called(gate: JsonDict) -> str:
    return "Everything" if gate["scope"] == Scope.ALL else f"The {gate['scope']} {gate['name']}"


def format_scope_option(scope: Scope, name: str) -> str:
    match scope:
        case Scope.ALL:
            return "--all"
        case Scope.QUEUE:
            return name
        case _:
            return f"--{scope} {shlex.quote(name)}"
