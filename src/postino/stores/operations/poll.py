"""A worker's poll: one round trip for due lines, gates and heartbeats."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from postino.rules.claim_order import ClaimSource
from postino.rules.restore import SILENT
from postino.stores.operations.circuits import to_breaker
from postino.stores.operations.database import decode_database_state
from postino.stores.operations.gates import decode_detail, to_gate_sources
from postino.stores.records import PollResult
from postino.stores.statement import Operation, Row, ask
from postino.values.job import Queue

Marks = Mapping[tuple[str, str, Queue], datetime]


def poll(
    worker: str | None,
    *,
    heartbeat: bool = False,
    marks: Marks | None = None,
    witnesses: Collection[str] = (),
    services: Collection[str] = (),
    types: Collection[str] | None = None,
) -> Operation[PollResult]:
    """Read due lines, gates, workers' heartbeats and the state of the database.

    `types` are the types of jobs that the worker handles, by default all. With `heartbeat`, also count one for this
    worker. The state has the numbers of these witnesses, and of those that work. Of circuits, read those of channels
    and of these services.
    """
    marks = marks or {}
    if types is None:
        types = [row["type"] for row in (yield ask("list_types"))]
    rows = yield ask(
        "poll",
        worker=worker,
        beat=heartbeat,
        types=list(types),
        mark_channel=[channel for channel, _, _ in marks],
        mark_type=[type_ for _, type_, _ in marks],
        mark_queue=[queue.value for _, _, queue in marks],
        mark_since_at=list(marks.values()),
        witnesses=list(witnesses),
        services=list(services),
        silent_seconds=SILENT.total_seconds(),
    )
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    return PollResult(
        now=kinds["clock"][0]["due_at"],
        heads=tuple(
            ClaimSource(
                row["name"],
                Queue(row["queue"]),
                row["due_at"],
                lanes=path == "lanes",
                started=path == "started",
                types=(row["detail"],),
            )
            for path in ("bulk", "lanes", "started")
            for row in kinds[path]
        ),
        types=frozenset(types),
        hinted=bool(kinds["hint"]),
        orphaned=bool(kinds["orphan"]),
        gate_sources=to_gate_sources(kinds),
        service_circuits=tuple(to_breaker(decode_detail(row["detail"])) for row in kinds["service"]),
        heartbeats={row["name"]: row["amount"] for row in kinds["worker"]},
        held=frozenset((UUID(row["name"]), UUID(row["detail"])) for row in kinds["held"]),
        database=decode_database_state(kinds),
    )
