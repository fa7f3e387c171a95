"""`postino jobs`: look at jobs, and decide about one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import jobs_explain, output, shapes
from postino.cli.details import COLUMNS, refused, replayed, row, show_history, show_job
from postino.cli.options import (
    Before,
    Channel,
    DatabaseUrl,
    DataDir,
    Force,
    JobId,
    Json,
    Limit,
    NeededReason,
    Payload,
    Reason,
    Type,
    cursor_from,
    payload_from,
    reason_from,
    uuid_from,
)
from postino.cli.session import Where, actor, perform
from postino.errors import Conflict, WrongUse
from postino.job import Job, State
from postino.outcome import Done, Reject, Retry
from postino.store import Attempt, JobFilter

if TYPE_CHECKING:
    from postino.app import App

commands = typer.Typer(help="Look at jobs; explain, cancel, replay or resolve one.", no_args_is_help=True)
MOST_CHILDREN = 100


@commands.command("list")
def list_jobs(
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only in this state; may be repeated.", show_default=False)
    ] = None,
    type: Type = None,
    channel: Channel = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Only this brand.", show_default=False)] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="high, default or low.", show_default=False)] = None,
    limit: Limit = 50,
    before: Before = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Live and finished jobs, the newest first."""
    from postino.engine.specs import queue_named

    wanted = JobFilter(
        states=tuple(state or ()),
        type=type,
        channel=channel,
        account=account,
        brand=brand,
        queue=None if queue is None else queue_named(queue),
        before=cursor_from(before),
        limit=limit + 1,  # one more tells whether there are more
    )

    async def read(app: "App") -> Sequence[Job]:
        return await app.store.list(wanted)

    found = perform(Where(data_dir, database_url), read)
    jobs, cursor = found[:limit], str(found[limit - 1].id) if len(found) > limit else None
    if as_json:
        output.as_list([shapes.of_job(job) for job in jobs], cursor)
        return
    output.table(COLUMNS, [row(job) for job in jobs], empty="There are no such jobs.")
    if cursor is not None:
        output.hint(f"There are more: --before {cursor}")


@commands.command("show")
def show(job_id: JobId, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Everything about one job: its fields, its attempts, its children."""
    wanted = uuid_from(job_id)

    async def read(app: "App") -> tuple[Job, Sequence[Attempt], Sequence[Job]]:
        children = JobFilter(parent_id=wanted, limit=MOST_CHILDREN)
        return await app.store.get(wanted), await app.store.attempts(wanted), await app.store.list(children)

    job, history, children = perform(Where(data_dir, database_url), read)
    if as_json:
        output.as_json(
            shapes.of_job(job)
            | {"history": [shapes.of_attempt(attempt) for attempt in history]}
            | {"children": [shapes.of_job(child) for child in children]}
        )
        return
    show_job(job)
    show_history(history)
    if children:
        output.table(COLUMNS, [row(child) for child in children], title="Children")


def answer(job: Job, said: str, *, as_json: bool) -> None:
    if as_json:
        output.as_json(shapes.of_job(job))
    else:
        output.write(said)


@commands.command("cancel")
def cancel(
    job_id: JobId,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Cancel a job that has not started. Final."""
    wanted = uuid_from(job_id)
    job = perform(Where(data_dir, database_url), lambda app: app.cancel(wanted, reason=reason, actor=actor()))
    answer(job, f"Job {job.id} is cancelled.", as_json=as_json)


@commands.command("replay")
def replay(
    job_id: JobId,
    payload: Payload = None,
    force: Force = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Run a failed job again: attempts start from none, its key and its history stay."""
    wanted, edited = uuid_from(job_id), payload_from(payload)
    try:
        job = perform(
            Where(data_dir, database_url),
            lambda app: app.replay(wanted, payload=edited, force=force, reason=reason, actor=actor()),
        )
    except Conflict as refusal:
        raise refused(refusal) from refusal
    answer(job, f"Job {job.id} {replayed(job)}.", as_json=as_json)


@commands.command("resolve")
def resolve(
    job_id: JobId,
    reason: NeededReason,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It is out, under this id.", show_default=False),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="It is not out: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Leave it; it becomes a dead letter.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Say what happened to an uncertain job, which is never repeated blindly."""
    wanted, verdict = uuid_from(job_id), verdict_from(live, again, give_up, reason_from(reason))
    job = perform(Where(data_dir, database_url), lambda app: app.resolve(wanted, verdict, reason=reason, actor=actor()))
    answer(job, f"Job {job.id} is resolved: it is now {job.state.value}.", as_json=as_json)


def verdict_from(
    live: str | None, again: bool, give_up: bool, reason: str, *, again_by: str = "--again"
) -> Done | Retry | Reject:
    if (live is not None) + again + give_up != 1:
        raise WrongUse(f"Give one of --live REMOTE_ID (it is out), {again_by} (it is not) or --give-up.")
    if live is not None:
        if not live.strip():
            raise WrongUse("--live: needs the id under which it is out.", field="live")
        return Done(remote_id=live)
    return Retry(reason) if again else Reject(reason)


commands.command("explain")(jobs_explain.explain_job)
commands.command("test")(jobs_explain.try_out)
