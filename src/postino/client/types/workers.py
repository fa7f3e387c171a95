"""Worker processes and health checks."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import DatabaseStanding
from postino.client.types.schema import Doc, Timestamp


class RegisteredWorkerView(TypedDict):
    """The registration of a worker process."""

    id: Annotated[str, Doc("Id of the worker.")]
    host: Annotated[str, Doc("Name of the host that runs the worker.")]
    pid: Annotated[int, Doc("Process id of the worker on its host.")]
    started_at: Annotated[Timestamp | None, Doc("When the worker started.")]
    heartbeats: Annotated[int, Doc("Number of heartbeats so far.")]
    types: Annotated[list[str], Doc("Types of the jobs that the worker handles.")]
    trouble: Annotated[str | None, Doc("Why the worker has not been able to claim jobs for 30 seconds or longer.")]
    trouble_since_at: Annotated[Timestamp | None, Doc("Since when the worker cannot claim jobs.")]


class WorkerView(RegisteredWorkerView):
    """A worker process and what it does now."""

    running: Annotated[int, Doc("Number of jobs that the worker runs.")]
    alive: Annotated[bool, Doc("True if the worker is alive.")]


class WorkersView(TypedDict):
    """All workers, and the types of jobs that wait for one."""

    data: Annotated[list[WorkerView], Doc("The workers.")]
    next_cursor: Annotated[None, Doc("Always null: all workers are on one page.")]
    types_without_handler: Annotated[
        list[str], Doc("Types of waiting jobs that no running worker handles, at most a hundred.")
    ]


class HealthView(TypedDict):
    """The result of a health check."""

    status: Annotated[
        Literal["live", "ready"], Doc("`live`: the process responds. `ready`: the database responds too.")
    ]
    events_delayed_since: NotRequired[
        Annotated[
            Timestamp,
            Doc("Start of the open transaction that delays events for all listeners; absent if there is none."),
        ]
    ]
    workers_without_state_directory: NotRequired[
        Annotated[
            int,
            Doc(
                "Number of workers that cannot use all files in their state directory; absent if all can. They may not"
                " detect a restored backup. `GET /v1/database` returns the errors."
            ),
        ]
    ]
    workers_that_cannot_claim: NotRequired[
        Annotated[
            int,
            Doc(
                "Number of workers that have not been able to claim jobs for 30 seconds or longer; absent if there is"
                " none. `GET /v1/workers` returns the reasons."
            ),
        ]
    ]
    job_types_without_handler: NotRequired[
        Annotated[
            int,
            Doc(
                "Number of types of waiting jobs that no running worker handles, at most a hundred; absent if there is"
                " none. `GET /v1/workers` returns the types."
            ),
        ]
    ]
    database: NotRequired[
        Annotated[DatabaseStanding, Doc("Whether workers send from the database: see `GET /v1/database`.")]
    ]
