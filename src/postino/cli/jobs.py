"""`postino jobs`: look at jobs, and decide about one."""

from typing import Annotated, Any

import typer

from postino.cli import explain, output
from postino.cli.connection import Target, open_api
from postino.cli.job_view import COLUMNS, refused, replayed, row, show_history, show_job
from postino.cli.options import (
    Before,
    Channel,
    Force,
    JobId,
    Json,
    Limit,
    Payload,
    Reason,
    RequiredReason,
    Type,
    check_reason,
    parse_cursor,
    parse_payload,
    parse_uuid,
    with_target,
)
from postino.cli.pagination import fetch_items, print_next_page_hint
from postino.errors import Conflict, WrongUse
from postino.values.job import State

commands = typer.Typer(help="Look at jobs; explain, cancel, replay or resolve one.", no_args_is_help=True)
MOST_CHILDREN = 100


@commands.command("list")
@with_target
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
    target: Target,
) -> None:
    """Live and finished jobs, the newest first."""
    states = ",".join(state) if state else None
    wanted = {"state": states, "type": type, "channel": channel, "account": account, "brand": brand, "queue": queue}
    place = parse_cursor(before)
    with open_api(target) as postino:
        jobs, cursor = fetch_items(postino.jobs.page, limit, place, **wanted)
    if as_json:
        output.print_json_list(jobs, cursor)
        return
    output.print_table(COLUMNS, [row(job) for job in jobs], empty="There are no such jobs.")
    print_next_page_hint(cursor)


@commands.command("show")
@with_target
def show(job_id: JobId, as_json: Json = False, *, target: Target) -> None:
    """Everything about one job: its fields, its attempts, its children."""
    wanted = parse_uuid(job_id)
    with open_api(target) as postino:
        job: dict[str, Any] = {**postino.jobs.get(wanted)}
        children = postino.jobs.page(parent=wanted, limit=MOST_CHILDREN)["data"]
    if as_json:
        output.print_json({**job, "children": children})
        return
    history = job.pop("history")
    show_job(job)
    show_history(history)
    if children:
        output.print_table(COLUMNS, [row(child) for child in children], title="Children")


@commands.command("cancel")
@with_target
def cancel(job_id: JobId, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Cancel a job that has not started. Final."""
    wanted = parse_uuid(job_id)
    with open_api(target) as postino:
        job = postino.jobs.cancel(wanted, reason=reason)
    output.print_result(job, f"Job {job['id']} is cancelled.", as_json=as_json)


@commands.command("replay")
@with_target
def replay(
    job_id: JobId,
    payload: Payload = None,
    force: Force = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Run a failed job again: attempts start from none, its key and its history stay."""
    wanted, edited = parse_uuid(job_id), parse_payload(payload)
    with open_api(target) as postino:
        try:
            job = postino.jobs.replay(wanted, **edited, force=force, reason=reason)
        except Conflict as refusal:
            raise refused(refusal) from refusal
    output.print_result(job, f"Job {job['id']} {replayed(job)}.", as_json=as_json)


@commands.command("resolve")
@with_target
def resolve(
    job_id: JobId,
    reason: RequiredReason,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It is out, under this id.", show_default=False),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="It is not out: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Leave it; it becomes a dead letter.")] = False,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Say what happened to an uncertain job, which is never repeated blindly."""
    wanted, said = parse_uuid(job_id), parse_verdict(live, again, give_up, check_reason(reason))
    with open_api(target) as postino:
        job = postino.jobs.resolve(wanted, **said)
    output.print_result(job, f"Job {job['id']} is resolved: it is now {job['state']}.", as_json=as_json)


def parse_verdict(
    live: str | None, again: bool, give_up: bool, reason: str, *, again_by: str = "--again"
) -> dict[str, Any]:
    if (live is not None) + again + give_up != 1:
        raise WrongUse(f"Give one of --live REMOTE_ID (it is out), {again_by} (it is not) or --give-up.")
    if live is not None and not live.strip():
        raise WrongUse("--live: needs the id under which it is out.", field="live")
    verdict = "send_again" if again else "give_up" if give_up else "live"
    return {"verdict": verdict, "remote_id": live, "reason": reason}


commands.command("explain")(explain.explain_job)
commands.command("test")(explain.evaluate_job)
