"""A job and its history, for eyes."""

from collections.abc import Mapping, Sequence

from postino.cli import output, shapes
from postino.errors import Conflict
from postino.job import Job, State
from postino.publishing.shapes import plain
from postino.store import Attempt

COLUMNS = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "RUN_AT", "FINISHED_AT", "LAST_ERROR")


def row(job: Job) -> Sequence[output.Cell]:
    return (
        str(job.id), job.state.value, job.queue.label, job.type, job.channel, job.account, tries(job), next_run(job),
        job.finished_at, job.last_error,
    )  # fmt: skip


def tries(job: Job) -> str:
    return str(job.attempts) if job.max_attempts is None else f"{job.attempts}/{job.max_attempts}"


def next_run(job: Job) -> output.Cell:
    return None if job.state.is_final else job.run_at


def show_job(job: Job, about: Mapping[str, output.Cell] | None = None) -> None:
    """Its fields, after what else there is to say about it."""
    values = {name: getattr(job, name) for name in Job.__slots__} | {"payload": shapes.payload_text(job.payload)}
    cells = {name: value if name.endswith("_at") else plain(value) for name, value in values.items()}
    output.fields({**(about or {}), **cells})


def show_history(history: Sequence[Attempt]) -> None:
    columns = ("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "WORKER", "MESSAGE")
    rows = [(number(it), it.started_at, it.ended_at, it.outcome, it.worker, it.message) for it in history]
    if rows:
        output.table(columns, rows, title="Attempts")
    traces = [attempt.trace for attempt in history if attempt.trace]
    if traces:
        output.write("\nLast stack trace\n" + output.printable(traces[-1].rstrip()))


def number(attempt: Attempt) -> str:
    """Attempts count from one again after a replay."""
    return f"{attempt.number}" if attempt.generation == 1 else f"{attempt.number} of run {attempt.generation}"


def replayed(job: Job) -> str:
    """What replaying came to: a job that is out already comes back as it is."""
    return "replayed" if job.state is not State.FAILED else f"is out already as {job.remote_id}"


def refused(refusal: Conflict) -> Conflict:
    """A refusal to replay, in the words of the command line."""
    said = str(refusal).replace("edit its payload, or force it", "edit it with --payload JSON, or say --force")
    return Conflict(said)
