"""`postino queues`: how much waits where, and what may not start."""

import os
import shlex
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output, shapes
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.session import Where, actor, perform
from postino.errors import WrongUse
from postino.gate import Gate, Scope
from postino.publishing.shapes import plain_fields
from postino.store import WorkerInfo

if TYPE_CHECKING:
    from postino.engine.gatekeeper import Queues
    from postino.wiring import Postino

commands = typer.Typer(help="What waits where; pause, resume, cap, warm.", no_args_is_help=True)
MOST_NAMED, MOST_DIGITS = 10, 9
DEPTHS = ("CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT")

OfQueue = Annotated[str | None, typer.Argument(metavar="[QUEUE]", help="high, default or low.", show_default=False)]
OfChannel = Annotated[str | None, typer.Option("--channel", help="A channel instead.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="A brand instead.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="An account instead.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Everything.")]


@commands.command("list")
def list_queues(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """How many jobs wait and run, what is closed or capped and why, and which workers there are."""
    queues = perform(Where(data_dir, database_url), lambda app: app.gatekeeper.queues())
    if as_json:
        output.as_list(
            [plain_fields(line) for line in queues.lines],
            gates=[shapes.of_gate(gate) for gate in queues.closed.gates],
            caps=dict(queues.closed.caps),
            workers=[shapes.of_worker(worker) | {"state": state_of(worker)} for worker in queues.workers],
        )
        return
    show_lists(queues)


def show_lists(queues: "Queues") -> None:
    gates, caps, workers = queues.closed.gates, queues.closed.caps, queues.workers
    rows = [(it.channel, it.queue.label, it.pending, it.running, it.uncertain, it.oldest_run_at) for it in queues.lines]
    output.table(DEPTHS, rows, empty="No job is waiting or running.")
    if gates:
        shut = [(it.scope.value, it.name or None, it.kind.value, it.since_at, it.until_at, it.reason) for it in gates]
        output.table(("CLOSED", "NAME", "BY", "SINCE_AT", "UNTIL_AT", "REASON"), shut, title="Gates")
    if caps:
        output.table(("CHANNEL", "AT_MOST"), sorted(caps.items()), title="Caps")
    if workers:
        seen = [(it.id, it.host, it.pid, it.started_at, state_of(it)) for it in workers]
        output.table(("ID", "HOST", "PID", "STARTED_AT", "STATE"), seen, title="Workers")
    else:
        output.hint("No worker is running: nothing will start.")


def state_of(worker: WorkerInfo) -> str:
    """`gone` is a process of this machine that has ended; others bury it, and take its jobs, within a lease."""
    if worker.host != socket.gethostname():
        return "registered"
    try:
        os.kill(worker.pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        pass
    return "alive"


@commands.command("pause")
def pause(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let nothing of a queue, channel, brand or account start, or nothing at all; what runs goes on to its end."""
    scope, name = gate_from(queue, channel, brand, account, everything)
    where = Where(data_dir, database_url)

    async def work(app: "Postino") -> tuple[Gate, str | None]:
        meant = await meant_by(app, scope, name)
        if scope is Scope.CHANNEL:
            await app.gatekeeper.check_channel(meant, app.config.channels)
        doubt = None if as_json else await doubt_about(app, scope, meant)
        return await app.gatekeeper.pause(scope, meant, reason=reason, actor=actor()), doubt

    gate, doubt = perform(where, work)
    undo = where.command(f"queues resume {option_of(scope, gate.name)}")
    answer(gate, f"{called(gate)} is paused. This undoes it: {undo}", as_json=as_json)
    if doubt is not None:
        output.hint(doubt)


@commands.command("resume")
def resume(
    queue: OfQueue = None,
    channel: OfChannel = None,
    brand: OfBrand = None,
    account: OfAccount = None,
    everything: All = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let it start again."""
    scope, name = gate_from(queue, channel, brand, account, everything)

    async def work(app: "Postino") -> Gate:
        return await app.gatekeeper.resume(scope, await meant_by(app, scope, name), reason=reason, actor=actor())

    gate = perform(Where(data_dir, database_url), work)
    answer(gate, f"{called(gate)} goes on.", as_json=as_json)


# A number below zero is no option: it is read, and refused by its name.
@commands.command("cap", context_settings={"ignore_unknown_options": True})
def cap(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A network or a channel.", show_default=False)],
    most: Annotated[
        str, typer.Argument(metavar="AT_MOST", help="So many at once; or the word usual.", show_default=False)
    ],
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let at most so many jobs of a channel run at once, over all workers; usual: as many as the settings say."""
    wanted, where = cap_from(most), Where(data_dir, database_url)

    async def work(app: "Postino") -> int | None:
        await app.gatekeeper.check_channel(channel, app.config.channels)
        return await app.cap(channel, wanted, reason=reason, actor=actor())

    holds = perform(where, work)
    if as_json:
        output.as_json({"channel": channel, "cap": holds})
    else:
        output.write(told_of_cap(channel, holds))


def cap_from(most: str) -> int | None:
    from postino.engine.deeds import MOST_CAPPED

    if most == "usual":
        return None
    if most.isascii() and most.isdigit() and len(most) <= MOST_DIGITS and int(most) <= MOST_CAPPED:
        return int(most)
    message = f"AT_MOST: {most!r:.200} is neither a whole number from 0 to {MOST_CAPPED:,} nor the word usual."
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
def warm(
    channel: Annotated[str | None, typer.Option("--channel", help="A channel.", show_default=False)] = None,
    account: Annotated[str | None, typer.Option("--account", help="An account.", show_default=False)] = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """End a cool-down before its time: the network asked for it, and may ask again."""
    scope, name = gate_from(None, channel, None, account)

    async def work(app: "Postino") -> Gate:
        return await app.gatekeeper.warm(scope, await meant_by(app, scope, name), reason=reason, actor=actor())

    gate = perform(Where(data_dir, database_url), work)
    answer(gate, f"{called(gate)} is not cooled any more.", as_json=as_json)


def gate_from(
    queue: str | None, channel: str | None, brand: str | None, account: str | None, everything: bool = False
) -> tuple[Scope, str]:
    from postino.engine.specs import queue_named, text

    said = {Scope.QUEUE: queue, Scope.CHANNEL: channel, Scope.BRAND: brand, Scope.ACCOUNT: account}
    given = [(scope, name) for scope, name in said.items() if name is not None]
    if len(given) + everything != 1:
        raise WrongUse("Name one thing, as --help shows it.")
    if everything:
        return Scope.ALL, ""
    scope, name = given[0]
    if scope is Scope.QUEUE:
        return scope, queue_named(name).label
    text(scope.value, name)
    return scope, name


async def meant_by(app: "Postino", scope: Scope, name: str) -> str:
    return await account_meant(app, name) if scope is Scope.ACCOUNT else name


async def doubt_about(app: "Postino", scope: Scope, name: str) -> str | None:
    """What to say where nothing is held up by it now."""
    if scope is Scope.BRAND:
        return await doubt_about_brand(app, name)
    others = sorted({depth.channel for depth in await app.store.depths()})
    if scope is not Scope.CHANNEL or name in others:
        return None
    shown = f" The channels that have some: {', '.join(others[:MOST_NAMED])}." if others else ""
    return f"No job of the channel {name} is waiting or running now.{shown}"


def called(gate: Gate) -> str:
    return "Everything" if gate.scope is Scope.ALL else f"The {gate.scope} {gate.name}"


def option_of(scope: Scope, name: str) -> str:
    match scope:
        case Scope.ALL:
            return "--all"
        case Scope.QUEUE:
            return name
        case _:
            return f"--{scope} {shlex.quote(name)}"


def answer(gate: Gate, said: str, *, as_json: bool) -> None:
    if as_json:
        output.as_json(shapes.of_gate(gate))
    else:
        output.write(said)
