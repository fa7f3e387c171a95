"""`postino queues`: how much waits where, and what may not start."""

import os
import shlex
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output, shapes
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.session import Where, actor, perform
from postino.errors import WrongUse
from postino.gate import Gate, Scope
from postino.publishing.shapes import plain_fields
from postino.store import QueueDepth, WorkerInfo

if TYPE_CHECKING:
    from postino.app import App
    from postino.engine.gatekeeper import Queues

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

    async def work(app: "App") -> tuple[Gate, Sequence[QueueDepth]]:
        depths = await app.store.depths() if scope is Scope.CHANNEL and not as_json else ()
        return await app.gatekeeper.pause(scope, name, reason=reason, actor=actor()), depths

    gate, depths = perform(where, work)
    undo = where.command(f"queues resume {option_of(scope, name)}")
    answer(gate, f"{called(scope, name)} is paused. This undoes it: {undo}", as_json=as_json)
    others = sorted({depth.channel for depth in depths})
    if scope is Scope.CHANNEL and not as_json and name not in others:
        shown = f" The channels that have some: {', '.join(others[:MOST_NAMED])}." if others else ""
        output.hint(f"No job of the channel {name} is waiting or running now.{shown}")


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
    gate = perform(
        Where(data_dir, database_url),
        lambda app: app.gatekeeper.resume(scope, name, reason=reason, actor=actor()),
    )
    answer(gate, f"{called(scope, name)} goes on.", as_json=as_json)


@commands.command("cap")
def cap(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A network or a channel.", show_default=False)],
    most: Annotated[str, typer.Argument(metavar="N|usual", help="At most so many at once.", show_default=False)],
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let at most so many jobs of a channel run at once, over all workers; usual: as many as the settings say."""
    if most != "usual" and not (most.isascii() and most.isdigit() and len(most) <= MOST_DIGITS):
        raise WrongUse(f"most: {most!r} is neither a whole number from 0 on nor the word usual.", field="most")
    wanted = None if most == "usual" else int(most)
    where = Where(data_dir, database_url)
    holds = perform(where, lambda app: app.cap(channel, wanted, reason=reason, actor=actor()))
    if as_json:
        output.as_json({"channel": channel, "cap": holds})
    elif holds is None:
        output.write(f"As many jobs of the channel {channel} run at once as there are.")
    else:
        output.write(f"At most {holds:,} jobs of the channel {channel} run at once.")


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
    gate = perform(
        Where(data_dir, database_url), lambda app: app.gatekeeper.warm(scope, name, reason=reason, actor=actor())
    )
    answer(gate, f"{called(scope, name)} is not cooled any more.", as_json=as_json)


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


def called(scope: Scope, name: str) -> str:
    return "Everything" if scope is Scope.ALL else f"The {scope} {name}"


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
