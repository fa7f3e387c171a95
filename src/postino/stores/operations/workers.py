"""The registry of worker processes and their heartbeats."""

import json
from uuid import UUID

from postino.rules.restore import Memory
from postino.stores.operations.text import clean_text
from postino.stores.records import WorkerInfo
from postino.stores.rows import to_worker
from postino.stores.statement import Operation, ask


def list_workers() -> Operation[list[WorkerInfo]]:
    """Return the registered workers."""
    return [to_worker(row) for row in (yield ask("list_workers"))]


def register_worker(worker: WorkerInfo) -> Operation[None]:
    """Register a worker, which may claim from now on."""
    yield ask("insert_worker", id=worker.id, host=worker.host, pid=worker.pid, types=json.dumps(worker.types))


def record_heartbeat(worker: str) -> Operation[bool]:
    """Count one heartbeat outside a poll; return False if the worker was declared dead and removed."""
    return bool((yield ask("record_heartbeat", worker=worker)))


def report_trouble(worker: str, trouble: str | None, seconds: float = 0.0) -> Operation[None]:
    """Record why a worker has not been able to claim for so many seconds, or that it can again."""
    yield ask("set_worker_trouble", worker=worker, trouble=clean_text(trouble), seconds=seconds)


def mark_suspect(worker: str, job_id: UUID) -> Operation[None]:
    """Record that a worker is about to run a job that was rescued before, in case it kills the worker."""
    yield ask("set_suspect", worker=worker, job_id=job_id)


def unregister_worker(worker: str, memory: Memory | None = None) -> Operation[None]:
    """Remove a worker that ends regularly. A roll call does not wait for it, if the database has all that it sent."""
    yield ask("delete_worker", id=worker)
    if memory is not None:
        sent = memory.counts.get(memory.witness, 0)
        yield ask("sign_off", witness=memory.witness, n=sent, era=memory.era, pulse=memory.pulse)
