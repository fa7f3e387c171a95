"""Worker processes and health checks."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from postino.client.types.schema import Doc, Timestamp


class RegisteredWorkerView(TypedDict):
    """A worker process as it registered itself."""

    id: Annotated[str, Doc("Id of the worker.")]
    host: Annotated[str, Doc("Name of its host.")]
    pid: Annotated[int, Doc("Process id on that host.")]
    started_at: Annotated[Timestamp | None, Doc("When the worker started.")]
    heartbeats: Annotated[int, Doc("Number of heartbeats so far.")]


class WorkerView(RegisteredWorkerView):
    """A worker process and what it does now."""

    running: Annotated[int, Doc("Number of jobs that the worker runs.")]
    here: Annotated[bool, Doc("True if the worker is alive.")]


class HealthView(TypedDict):
    """The result of a health check."""

    status: Annotated[
        Literal["live", "ready"], Doc("`live`: the process responds. `ready`: the database responds too.")
    ]
