"""`postino queues`: how much waits where, and what may not start."""

import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output, shapes
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.session import Where, actor, perform
from postino.errors import WrongUse
from postino.gate import Gate, Scope
from postino.publishing.shapes import plain
from postino.rules.gates import is_closed
from postino.store import QueueDepth, WorkerInfo

if TYPE_CHECKING:
    from postino.app import App

Reading = tuple[Sequence[QueueDepth], Sequence[Gate], Mapping[str, int], Sequence[WorkerInfo]]
commands = typer.Typer(help="What waits where; pause and resume.", no_args_is_help=True)
MOST_NAMED = 10
DEPTHS = ("CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT")

OfQueue = Annotated[str | None, typer.Argument(metavar="[QUEUE]", help="high, default or low.", show_default=False)]
OfChannel = Annotated[str | None, typer.Option("--channel", help="A channel instead.", show_default=False)]
OfBrand = Annotated[str | None, typer.Option("--brand", help="A brand instead.", show_default=False)]
OfAccount = Annotated[str | None, typer.Option("--account", help="An account instead.", show_default=False)]


@commands.command("list")
def list_queues(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """How many jobs wait and run, what is paused or capped, and which workers there are."""

    async def read(app: "App") -> Reading:
        known, now = await app.store.known_gates()
        closed = [gate for gate in await app.store.gates() if is_closed(gate, now)]
        return await app.store.depths(), closed, known.caps, await app.store.workers()

    depths, gates, caps, workers = perform(Where(data_dir, database_url), read)
    lines = shapes.of_depths(depths)
    if as_json:
        output.as_list(
            [{name: plain(value) for name, value in line.items()} for line in lines],
            gates=[shapes.of_gate(gate) for gate in gates],
            caps=caps,
            workers=[shapes.of_worker(worker) | {"state": state_of(worker)} for worker in workers],
        )
        return
    show_lists(lines, gates, caps, workers)


def show_lists(
    lines: Sequence[dict[str, Any]], gates: Sequence[Gate], caps: Mapping[str, int], workers: Sequence[WorkerInfo]
) -> None:
    rows = [[line[name.lower()] for name in DEPTHS] for line in lines]
    output.table(DEPTHS, rows, empty="No job is waiting or running.")
    if gates:
        shut = [(it.scope.value, it.name, it.kind.value, it.since_at, it.until_at, it.reason) for it in gates]
        output.table(("CLOSED", "NAME", "BY", "SINCE", "UNTIL", "REASON"), shut, title="Gates")
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
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let nothing of a queue, channel, brand or account start; what runs goes on to its end."""
    scope, name = gate_from(queue, channel, brand, account)
    where = Where(data_dir, database_url)

    async def work(app: "App") -> tuple[Gate, Sequence[QueueDepth]]:
        depths = await app.store.depths() if scope is Scope.CHANNEL and not as_json else ()
        return await app.pause(scope, name, reason=reason, actor=actor()), depths

    gate, depths = perform(where, work)
    undo = where.command(f"queues resume {'' if scope is Scope.QUEUE else f'--{scope} '}{shlex.quote(name)}")
    answer(gate, f"The {scope} {name} is paused. This undoes it: {undo}", as_json=as_json)
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
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let it start again."""
    scope, name = gate_from(queue, channel, brand, account)
    gate = perform(Where(data_dir, database_url), lambda app: app.resume(scope, name, reason=reason, actor=actor()))
    answer(gate, f"The {scope} {name} goes on.", as_json=as_json)


def gate_from(queue: str | None, channel: str | None, brand: str | None, account: str | None) -> tuple[Scope, str]:
    from postino.engine.specs import queue_named, text

    said = {Scope.QUEUE: queue, Scope.CHANNEL: channel, Scope.BRAND: brand, Scope.ACCOUNT: account}
    given = [(scope, name) for scope, name in said.items() if name is not None]
    if len(given) != 1:
        raise WrongUse("Give one queue (high, default or low), or one of --channel, --brand, --account.")
    scope, name = given[0]
    if scope is Scope.QUEUE:
        return scope, queue_named(name).label
    text(scope.value, name)
    return scope, name


def answer(gate: Gate, said: str, *, as_json: bool) -> None:
    if as_json:
        output.as_json(shapes.of_gate(gate))
    else:
        output.write(said)
