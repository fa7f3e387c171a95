"""`postino jobs`: look at jobs, and decide about one."""

from typing import Annotated, Any

import typer

from postino.cli import jobs_explain, output
from postino.cli.details import COLUMNS, refused, replayed, row, show_history, show_job
from postino.cli.lists import listed, tell_more
from postino.cli.options import (
    Before,
    Channel,
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
    placed,
    reason_from,
    uuid_from,
)
from postino.cli.session import Where, house
from postino.errors import Conflict, WrongUse
from postino.values.job import State

commands = typer.Typer(help="Look at jobs; explain, cancel, replay or resolve one.", no_args_is_help=True)
MOST_CHILDREN = 100


@commands.command("list")
@placed
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
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Live and finished jobs, the newest first."""
    states = ",".join(state) if state else None
    wanted = {"state": states, "type": type, "channel": channel, "account": account, "brand": brand, "queue": queue}
    place = cursor_from(before)
    with house(where) as postino:
        jobs, cursor = listed(postino.jobs.page, limit, place, **wanted)
    if as_json:
        output.as_list(jobs, cursor)
        return
    output.table(COLUMNS, [row(job) for job in jobs], empty="There are no such jobs.")
    tell_more(cursor)


@commands.command("show")
@placed
def show(job_id: JobId, as_json: Json = False, *, where: Where) -> None:
    """Everything about one job: its fields, its attempts, its children."""
    wanted = uuid_from(job_id)
    with house(where) as postino:
        job: dict[str, Any] = {**postino.jobs.get(wanted)}
        children = postino.jobs.page(parent=wanted, limit=MOST_CHILDREN)["data"]
    if as_json:
        output.as_json({**job, "children": children})
        return
    history = job.pop("history")
    show_job(job)
    show_history(history)
    if children:
        output.table(COLUMNS, [row(child) for child in children], title="Children")


@commands.command("cancel")
@placed
def cancel(job_id: JobId, reason: Reason = "", as_json: Json = False, *, where: Where) -> None:
    """Cancel a job that has not started. Final."""
    wanted = uuid_from(job_id)
    with house(where) as postino:
        job = postino.jobs.cancel(wanted, reason=reason)
    output.answer(job, f"Job {job['id']} is cancelled.", as_json=as_json)


@commands.command("replay")
@placed
def replay(
    job_id: JobId,
    payload: Payload = None,
    force: Force = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Run a failed job again: attempts start from none, its key and its history stay."""
    wanted, edited = uuid_from(job_id), payload_from(payload)
    with house(where) as postino:
        try:
            job = postino.jobs.replay(wanted, **edited, force=force, reason=reason)
        except Conflict as refusal:
            raise refused(refusal) from refusal
    output.answer(job, f"Job {job['id']} {replayed(job)}.", as_json=as_json)


@commands.command("resolve")
@placed
def resolve(
    job_id: JobId,
    reason: NeededReason,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It is out, under this id.", show_default=False),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="It is not out: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Leave it; it becomes a dead letter.")] = False,
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Say what happened to an uncertain job, which is never repeated blindly."""
    wanted, said = uuid_from(job_id), verdict_from(live, again, give_up, reason_from(reason))
    with house(where) as postino:
        job = postino.jobs.resolve(wanted, **said)
    output.answer(job, f"Job {job['id']} is resolved: it is now {job['state']}.", as_json=as_json)


def verdict_from(
    live: str | None, again: bool, give_up: bool, reason: str, *, again_by: str = "--again"
) -> dict[str, Any]:
    if (live is not None) + again + give_up != 1:
        raise WrongUse(f"Give one of --live REMOTE_ID (it is out), {again_by} (it is not) or --give-up.")
    if live is not None and not live.strip():
        raise WrongUse("--live: needs the id under which it is out.", field="live")
    verdict = "send_again" if again else "give_up" if give_up else "live"
    return {"verdict": verdict, "remote_id": live, "reason": reason}


commands.command("explain")(jobs_explain.explain_job)
commands.command("test")(jobs_explain.try_out)
