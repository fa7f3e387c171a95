"""`postino jobs`: list, show, explain, cancel, replay and resolve jobs."""

from typing import Annotated, Any

import typer

from postino.cli import explain, output
from postino.cli.connection import Target, open_api
from postino.cli.job_view import COLUMNS, describe_replay, format_row, print_attempts, print_job, to_replay_error
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

commands = typer.Typer(help="List, show, explain, cancel, replay and resolve jobs.", no_args_is_help=True)
MOST_CHILDREN = 100


@commands.command("list")
@with_target
def list_jobs(
    state: Annotated[
        list[State] | None,
        typer.Option("--state", help="Only jobs in this state; may be repeated.", show_default=False),
    ] = None,
    type: Type = None,
    channel: Channel = None,
    account: Annotated[
        str | None, typer.Option("--account", help="Only jobs of this account.", show_default=False)
    ] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Only jobs of this brand.", show_default=False)] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", help="Only jobs of this queue: high, default or low.", show_default=False)
    ] = None,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """List jobs, newest first."""
    states = ",".join(state) if state else None
    filters = {"state": states, "type": type, "channel": channel, "account": account, "brand": brand, "queue": queue}
    place = parse_cursor(before)
    with open_api(target) as postino:
        jobs, cursor = fetch_items(postino.jobs.list, limit, place, **filters)
    if as_json:
        output.print_json_list(jobs, cursor)
        return
    output.print_table(COLUMNS, [format_row(job) for job in jobs], empty="No jobs match.")
    print_next_page_hint(cursor)


@commands.command("show")
@with_target
def show(job_id: JobId, as_json: Json = False, *, target: Target) -> None:
    """Show a job with its attempts and child jobs."""
    checked = parse_uuid(job_id)
    with open_api(target) as postino:
        job: dict[str, Any] = {**postino.jobs.get(checked)}
        children = postino.jobs.list(parent=checked, limit=MOST_CHILDREN)["data"]
    if as_json:
        output.print_json({**job, "children": children})
        return
    history = job.pop("history")
    print_job(job)
    print_attempts(history)
    if children:
        output.print_table(COLUMNS, [format_row(child) for child in children], title="Children")


@commands.command("cancel")
@with_target
def cancel(job_id: JobId, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Cancel a job that has not started.

    This cannot be undone.
    """
    checked = parse_uuid(job_id)
    with open_api(target) as postino:
        job = postino.jobs.cancel(checked, reason=reason)
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
    """Run a failed job again.

    Its key and history stay; its attempts start from zero.
    """
    checked, edited = parse_uuid(job_id), parse_payload(payload)
    with open_api(target) as postino:
        try:
            job = postino.jobs.replay(checked, **edited, force=force, reason=reason)
        except Conflict as error:
            raise to_replay_error(error) from error
    output.print_result(job, f"Job {job['id']} {describe_replay(job)}.", as_json=as_json)


@commands.command("resolve")
@with_target
def resolve(
    job_id: JobId,
    reason: RequiredReason,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It took effect, with this id.", show_default=False),
    ] = None,
    send_again: Annotated[bool, typer.Option("--send-again", help="It had no effect: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Give up; it becomes a dead letter.")] = False,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Say what happened to an uncertain job."""
    checked, decision = parse_uuid(job_id), parse_verdict(live, send_again, give_up, check_reason(reason))
    with open_api(target) as postino:
        job = postino.jobs.resolve(checked, **decision)
    output.print_result(job, f"Job {job['id']} is resolved and now {job['state']}.", as_json=as_json)


def parse_verdict(live: str | None, send_again: bool, give_up: bool, reason: str) -> dict[str, Any]:
    if (live is not None) + send_again + give_up != 1:
        raise WrongUse("Pass one of --live REMOTE_ID (it was published), --send-again (it was not) or --give-up.")
    if live is not None and not live.strip():
        raise WrongUse("--live: expected the id of the published post.", field="live")
    verdict = "send_again" if send_again else "give_up" if give_up else "live"
    return {"verdict": verdict, "remote_id": live, "reason": reason}


commands.command("explain")(explain.explain_job)
commands.command("test")(explain.evaluate_job)
