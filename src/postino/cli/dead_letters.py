"""`postino dead`: list, replay and discard dead letters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from postino.cli import errors, job_view, output
from postino.cli.connection import Target, open_api
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
from postino.cli.pagination import PAGE_SIZE, fetch_items, print_next_page_hint
from postino.errors import Conflict, WrongUse
from postino.rules.replay import find_replay_objection
from postino.rules.settlement import DeadLetterCause
from postino.values.post import POST

commands = typer.Typer(
    help="List, show, replay and discard dead letters: jobs that failed for good.", no_args_is_help=True
)
COLUMNS = ("ID", "CAUSE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "DIED_AT", "ERROR", "RESOLVED")

OfCause = Annotated[
    DeadLetterCause | None, typer.Option("--cause", help="Only dead letters with this cause.", show_default=False)
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the jobs.", show_default=False)]
JsonDict = Mapping[str, Any]
Done = Callable[[JsonDict], str]


@commands.command("list")
@with_target
def list_dead(
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Include those that were replayed or discarded.")
    ] = False,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """List dead letters, newest first, and uncertain jobs that wait for a person."""
    filters, place = {"type": type, "channel": channel}, parse_cursor(before)
    waiting: list[Any] = []
    with open_api(target) as postino:
        letters, cursor = fetch_items(
            postino.dead_letters.list, limit, place, **filters, cause=cause, resolved=resolved
        )
        if cause is None and before is None:
            uncertain, _ = fetch_items(postino.jobs.list, limit, None, **filters, state="uncertain")
            waiting = [job for job in uncertain if job["run_at"] is None]
    if as_json:
        output.print_json_list(letters, cursor, uncertain=waiting)
        return
    rows = [format_row(it["job"], it["cause"], it["died_at"], it["error"], it["resolution"]) for it in letters]
    rows += [format_row(job, "uncertain", None, job["last_error"], None) for job in waiting]
    output.print_table(COLUMNS, rows, empty="There are no dead letters.")
    if waiting:
        output.print_hint(f"Uncertain jobs wait for your decision: {suggest_resolve(waiting, target)}")
    print_next_page_hint(cursor)


def suggest_resolve(waiting: Sequence[JsonDict], target: Target) -> str:
    """Return the commands that resolve these jobs; posts have their own."""
    names = sorted({"posts resolve" if job["type"] == POST else "jobs resolve" for job in waiting}, reverse=True)
    lines = (
        f"`{target.format_command(f'{it} ID --reason WHY')} --live REMOTE_ID | --send-again | --give-up`"
        for it in names
    )
    return " or ".join(lines)


def format_row(
    job: JsonDict, cause: str, died_at: str | None, error: str | None, resolution: str | None
) -> list[output.Cell]:
    about = [job[name] for name in ("type", "channel", "account", "attempts")]
    return [job["id"], cause, *about, output.parse_instant(died_at), error, resolution]


@commands.command("show")
@with_target
def show(job_id: JobId, as_json: Json = False, *, target: Target) -> None:
    """Show a dead letter with its payload, attempts and last stack trace."""
    checked = parse_uuid(job_id)
    with open_api(target) as postino:
        letter = postino.dead_letters.get(checked)
    if as_json:
        output.print_json(letter)
        return
    about: dict[str, output.Cell] = {"cause": letter["cause"], "died_at": output.parse_instant(letter["died_at"])}
    about |= {"resolved_at": output.parse_instant(letter["resolved_at"]), "resolution": letter["resolution"]}
    job_view.print_job(letter["job"], about)
    job_view.print_attempts(letter["history"])
    if output.is_terminal() and letter["resolved_at"] is None:
        output.print_line("\nWhat you can do")
        for words in next_steps(letter):
            output.print_line(f"  {target.format_command(words)}")


def next_steps(letter: JsonDict) -> list[str]:
    unchanged = find_replay_objection(DeadLetterCause(letter["cause"]), edited=False, force=False) is None
    edits = [] if letter["job"]["type"] == POST else [" --payload JSON"]
    replays = [""] if unchanged else [*edits, " --force"]
    return [*(f"dead replay {letter['id']}{how}" for how in replays), f"dead discard {letter['id']} --reason WHY"]


@commands.command("replay")
@with_target
def replay(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of the jobs.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Replay all dead letters.")] = False,
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    payload: Payload = None,
    force: Force = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Run dead letters again, selected by id, type, channel or cause.

    One that fails does not stop the others.
    """
    filters = {name: value for name, value in (("type", type), ("channel", channel), ("cause", cause)) if value}
    if bool(ids) == (everything or bool(filters)):
        raise WrongUse("Pass either ids, or --all, --type, --channel or --cause.", field="ids")
    if payload is not None and len(ids or ()) != 1:
        raise WrongUse("payload: needs exactly one id.", field="payload")
    edited = parse_payload(payload)
    checked = [str(parse_uuid(text)) for text in ids or ()]
    with open_api(target) as postino:
        if len(checked) == 1:
            try:
                job = postino.dead_letters.replay(checked[0], **edited, force=force, reason=reason)
            except Conflict as error:
                raise job_view.to_replay_error(error) from error
            results = [to_success(job["id"], job=job)]
        else:
            action = postino.dead_letters.replay_many
            results = [*run_in_batches(action, checked, None if checked else filters, force=force, reason=reason)]
    print_results(results, lambda it: job_view.describe_replay(it["job"]), as_json=as_json)


@commands.command("discard")
@with_target
def discard(ids: Ids, reason: RequiredReason, as_json: Json = False, *, target: Target) -> None:
    """Mark dead letters as resolved without running them again."""
    checked, why = [str(parse_uuid(text)) for text in ids], check_reason(reason)
    with open_api(target) as postino:
        if len(checked) == 1:
            letter = postino.dead_letters.discard(checked[0], reason=why)
            results = [to_success(letter["id"], dead_letter=letter)]
        else:
            results = [*run_in_batches(postino.dead_letters.discard_many, checked, None, reason=why)]
    print_results(results, lambda _: "discarded", as_json=as_json)


def to_success(job_id: str, **what: Any) -> JsonDict:
    return {"id": job_id, "done": True, **what}


def run_in_batches(
    action: Callable[..., Any], ids: Sequence[str], filters: Mapping[str, Any] | None, **options: Any
) -> Iterator[JsonDict]:
    """Yield the result of each dead letter, by id or by filter, in batches of the size that the API accepts."""
    for start in range(0, len(ids), PAGE_SIZE):
        yield from action(ids=ids[start : start + PAGE_SIZE], **options)["data"]
    place: dict[str, Any] = {}
    while filters is not None:
        page = action(filter={**filters, **place}, **options)
        yield from page["data"]
        if page["next_cursor"] is None:
            return
        place = {"before": page["next_cursor"]}


def print_results(results: Sequence[JsonDict], describe: Done, *, as_json: bool) -> None:
    from postino.client.errors import ERROR_TYPES

    if as_json:
        output.print_json_list(results)
    elif not results:
        output.print_hint("No dead letters match: nothing was done.")
    else:
        rows = [
            (it["id"], describe(it), None) if it["done"] else (it["id"], "failed", job_view.use_options(it["detail"]))
            for it in results
        ]
        output.print_table(("ID", "RESULT", "WHY"), rows)
    if codes := [ERROR_TYPES[it["status"]].exit_code for it in results if not it["done"]]:
        raise typer.Exit(errors.combine_exit_codes(codes))
