"""Looking things up, and the small bookkeeping of workers and listeners: one statement each."""

from uuid import UUID

from postino.stores import rows
from postino.stores.records import WorkerInfo
from postino.stores.statement import Operation, ask


def list_workers() -> Operation[list[WorkerInfo]]:
    return [rows.worker(row) for row in (yield ask("list_workers"))]


def register_worker(worker: WorkerInfo) -> Operation[None]:
    yield ask("insert_worker", id=worker.id, host=worker.host, pid=worker.pid)


def record_heartbeat(worker: str) -> Operation[bool]:
    return bool((yield ask("record_heartbeat", worker=worker)))


def mark_suspect(worker: str, job_id: UUID) -> Operation[None]:
    yield ask("set_suspect", worker=worker, job_id=job_id)


def unregister_worker(worker: str) -> Operation[None]:
    yield ask("delete_worker", id=worker)
