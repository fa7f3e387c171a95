"""The registry of worker processes and their heartbeats."""

from uuid import UUID

from postino.stores.records import WorkerInfo
from postino.stores.rows import to_worker
from postino.stores.statement import Operation, ask


def list_workers() -> Operation[list[WorkerInfo]]:
    """Return the registered workers."""
    return [to_worker(row) for row in (yield ask("list_workers"))]


def register_worker(worker: WorkerInfo) -> Operation[None]:
    """Register a worker, which may claim from now on."""
    yield ask("insert_worker", id=worker.id, host=worker.host, pid=worker.pid)


def record_heartbeat(worker: str) -> Operation[bool]:
    """Count one heartbeat outside a poll; return False if the worker was taken for dead and removed."""
    return bool((yield ask("record_heartbeat", worker=worker)))


def mark_suspect(worker: str, job_id: UUID) -> Operation[None]:
    """Record that a worker is about to run a job that was rescued before, in case it kills the worker."""
    yield ask("set_suspect", worker=worker, job_id=job_id)


def unregister_worker(worker: str) -> Operation[None]:
    """Remove a worker that ends regularly."""
    yield ask("delete_worker", id=worker)
