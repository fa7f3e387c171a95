"""A worker's poll: one round trip for due lines, gates and heartbeats."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from postino.rules.claim_order import ClaimSource
from postino.stores.operations.gates import to_gate_sources
from postino.stores.records import PollResult
from postino.stores.statement import Operation, Row, ask
from postino.values.job import Queue

Marks = Mapping[tuple[str, Queue], datetime]


def poll(worker: str | None, *, heartbeat: bool = False, marks: Marks | None = None) -> Operation[PollResult]:
    """Read due lines, gates and workers' heartbeats; with `heartbeat`, also count one for this worker."""
    marks = marks or {}
    rows = yield ask(
        "poll",
        worker=worker,
        beat=heartbeat,
        mark_channel=[channel for channel, _ in marks],
        mark_queue=[queue.value for _, queue in marks],
        mark_since_at=list(marks.values()),
    )
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    return PollResult(
        now=kinds["clock"][0]["due_at"],
        heads=tuple(
            ClaimSource(
                row["name"], Queue(row["queue"]), row["due_at"], lanes=path == "lanes", started=path == "started"
            )
            for path in ("bulk", "lanes", "started")
            for row in kinds[path]
        ),
        hinted=bool(kinds["hint"]),
        orphaned=bool(kinds["orphan"]),
        gate_sources=to_gate_sources(kinds),
        heartbeats={row["name"]: row["amount"] for row in kinds["worker"]},
        held=frozenset((UUID(row["name"]), UUID(row["detail"])) for row in kinds["held"]),
    )
