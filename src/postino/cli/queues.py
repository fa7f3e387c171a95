"""`postino queues`: list queues; pause, resume and cap them; end cooldowns."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, with_target
from postino.cli.resolve_name import describe_unknown_brand, resolve_account
from postino.errors import WrongUse
from postino.values.gate import Scope

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi
    from postino.client.types.literals import PausedScope

commands = typer.Typer(help="List queues; pause, resume and cap them; end cooldowns.", no_args_is_help=True)
MAX_NAMES, MAX_DIGITS = 10, 9
DEPTHS = ("CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT")

OfQueue = Annotated[
    str | None, typer.Argument(metavar="[QUEUE]", help="Queue: high, default or low.", show_default=False)
]
OfChannel = Annotated[str | None, typer.Option("--channel", help="A channel instead of a queue.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="A brand instead of a queue.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="An account instead of a queue.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
JsonDict = Mapping[str, Any]


@commands.command("list")
@with_target
def list_queues(as_json: Json = False, *, target: Target) -> None:
    """List queues, closed gates, caps and workers."""
    with open_api(target) as postino:
        queues = {**postino.queues(), "workers": postino.workers()["data"]}
    if as_json:
        output.print_json(queues)
    else:
        print_queues(queues, target)


def print_queues(queues: JsonDict, target: Target) -> None:
    counts = ("channel", "queue", "pending", "running", "uncertain")
    rows = [(*(it[name] for name in counts), output.parse_instant(it["oldest_run_at"])) for it in queues["data"]]
    output.print_table(DEPTHS, rows, empty="No jobs are pending or running.")
    if queues["gates"]:
        gates = [
            (it["scope"], it["name"] or None, it["kind"], output.parse_instant(it["since_at"]),
             output.parse_instant(it["until_at"]), it["reason"])
            for it in queues["gates"]
        ]  # fmt: skip
        output.print_table(("SCOPE", "NAME", "KIND", "SINCE_AT", "UNTIL_AT", "REASON"), gates, title="Gates")
    if queues["caps"]:
        output.print_table(("CHANNEL", "MAXIMUM"), sorted(queues["caps"].items()), title="Caps")
    if queues["workers"]:
        workers = [
            (
                it["id"],
                it["host"],
                it["pid"],
                output.parse_instant(it["started_at"]),
                "registered" if it["alive"] else "gone",
            )
            for it in queues["workers"]
        ]
        output.print_table(("ID", "HOST", "PID", "STARTED_AT", "STATE"), workers, title="Workers")
    else:
        output.print_hint(f"No worker is running, so no job starts. {target.suggest_worker()}")


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
    """Pause a queue, channel, brand, account or everything.

    Running jobs end normally.
    """
    scope, name = parse_gate(queue, channel, brand, account, everything)
    with open_api(target) as postino:
        resolved = resolve_scope_name(postino, scope, name)
        hint = None if as_json else describe_unknown_scope(postino, scope, resolved)
        gate = postino.gates.pause(cast("PausedScope", scope.value), resolved, reason=reason)
    undo = target.format_command(f"queues resume {format_scope_option(scope, resolved)}")
    output.print_result(gate, f"{describe_scope(gate)} is paused. To undo: {undo}", as_json=as_json)
    if hint is not None:
        output.print_hint(hint)


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
    """End a pause."""
    scope, name = parse_gate(queue, channel, brand, account, everything)
    with open_api(target) as postino:
        gate = postino.gates.resume(
            cast("PausedScope", scope.value), resolve_scope_name(postino, scope, name), reason=reason
        )
    output.print_result(gate, f"{describe_scope(gate)} is resumed.", as_json=as_json)


# Read a negative number as an argument, so that the error names it.
@commands.command("cap", context_settings={"ignore_unknown_options": True})
@with_target
def cap(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Network or other channel.", show_default=False)],
    maximum: Annotated[
        str,
        typer.Argument(
            metavar="MAXIMUM",
            help="Maximum number of running jobs, or `usual` for the cap from the settings.",
            show_default=False,
        ),
    ],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Limit how many jobs of a channel run at once, over all workers.

    `usual` restores the cap from the settings.
    """
    new_cap = parse_cap(maximum)
    with open_api(target) as postino:
        capped = postino.gates.cap(channel, new_cap, reason=reason)
    output.print_result(capped, describe_cap(channel, capped["cap"]), as_json=as_json)


def parse_cap(maximum: str) -> int | None:
    from postino.engine.checks import MAX_CAP

    if maximum == "usual":
        return None
    if maximum.isascii() and maximum.isdigit() and len(maximum) <= MAX_DIGITS and int(maximum) <= MAX_CAP:
        return int(maximum)
    message = f"MAXIMUM: {maximum!r:.200} is neither a whole number from 0 to {MAX_CAP:,} nor `usual`."
    raise WrongUse(f"{message} Nothing was changed.", field="cap")


def describe_cap(channel: str, cap: int | None) -> str:
    match cap:
        case None:
            return f"The channel {channel} has no limit of its own."
        case 0:
            return f"No job of the channel {channel} starts."
        case 1:
            return f"At most 1 job of the channel {channel} runs at once."
        case _:
            return f"At most {cap:,} jobs of the channel {channel} run at once."


@commands.command("end-cooldown")
@with_target
def end_cooldown(
    channel: Annotated[
        str | None, typer.Option("--channel", help="Channel to end the cooldown of.", show_default=False)
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", help="Account to end the cooldown of.", show_default=False)
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """End a cooldown early.

    The network requested it, and may do so again.
    """
    scope, name = parse_gate(None, channel, None, account)
    with open_api(target) as postino:
        resolved = resolve_scope_name(postino, scope, name)
        gate = postino.gates.end_cooldown("account" if scope is Scope.ACCOUNT else "channel", resolved, reason=reason)
    output.print_result(gate, f"{describe_scope(gate)} is no longer in cooldown.", as_json=as_json)


def parse_gate(
    queue: str | None, channel: str | None, brand: str | None, account: str | None, everything: bool = False
) -> tuple[Scope, str]:
    from postino.engine.checks import check_text, parse_queue

    names = {Scope.QUEUE: queue, Scope.CHANNEL: channel, Scope.BRAND: brand, Scope.ACCOUNT: account}
    given = [(scope, name) for scope, name in names.items() if name is not None]
    if len(given) + everything != 1:
        raise WrongUse("Pass exactly one queue, channel, brand or account, or --all.")
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
    """Return a hint if nothing is affected now, which may be a typing error."""
    if scope is Scope.BRAND:
        return describe_unknown_brand(postino, name)
    if scope is not Scope.CHANNEL:
        return None
    others = sorted({line["channel"] for line in postino.queues()["data"]})
    known = f" Channels with jobs: {', '.join(others[:MAX_NAMES])}." if others else ""
    return None if name in others else f"The channel {name} has no pending or running jobs now.{known}"


def describe_scope(gate: JsonDict) -> str:
    return "Everything" if gate["scope"] == Scope.ALL else f"The {gate['scope']} {gate['name']}"


def format_scope_option(scope: Scope, name: str) -> str:
    match scope:
        case Scope.ALL:
            return "--all"
        case Scope.QUEUE:
            return name
        case _:
            return f"--{scope} {shlex.quote(name)}"
