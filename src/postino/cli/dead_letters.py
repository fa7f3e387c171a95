"""`postino dead`: jobs that failed, until a person replays or discards them. Never by itself."""

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
from postino.cli.pagination import A_PAGE, fetch_items, print_next_page_hint
from postino.errors import Conflict, WrongUse
from postino.rules.replay import explain_refusal
from postino.rules.settlement import DeadLetterCause
from postino.values.post import POST

commands = typer.Typer(help="Jobs that failed: look, replay, discard.", no_args_is_help=True)
COLUMNS = ("ID", "CAUSE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "DIED_AT", "ERROR", "RESOLVED")

OfCause = Annotated[
    DeadLetterCause | None, typer.Option("--cause", help="Only those of this cause.", show_default=False)
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The jobs' ids.", show_default=False)]
JsonDict = Mapping[str, Any]
Done = Callable[[JsonDict], str]


@commands.command("list")
@with_target
def list_dead(
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Also those replayed or discarded.")] = False,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Dead letters, the newest job first; and beside them the uncertain jobs that wait for a person."""
    alike, place = {"type": type, "channel": channel}, parse_cursor(before)
    waiting: list[Any] = []
    with open_api(target) as postino:
        letters, cursor = fetch_items(postino.dead_letters.page, limit, place, **alike, cause=cause, resolved=resolved)
        if cause is None and before is None:
            unsure, _ = fetch_items(postino.jobs.page, limit, None, **alike, state="uncertain")
            waiting = [job for job in unsure if job["run_at"] is None]
    if as_json:
        output.print_json_list(letters, cursor, uncertain=waiting)
        return
    rows = [row(it["job"], it["cause"], it["died_at"], it["error"], it["resolution"]) for it in letters]
    rows += [row(job, "uncertain", None, job["last_error"], None) for job in waiting]
    output.print_table(COLUMNS, rows, empty="There are no dead letters.")
    if waiting:
        output.print_hint(f"Uncertain ones wait for a word: {resolving(waiting, target)}")
    print_next_page_hint(cursor)


def resolving(waiting: Sequence[JsonDict], target: Target) -> str:
    """By which command: posts have one of their own."""
    ways = {"posts resolve": "--send-again", "jobs resolve": "--again"}
    wanted = sorted({"posts resolve" if job["type"] == POST else "jobs resolve" for job in waiting}, reverse=True)
    said = (
        f"`{target.format_command(f'{it} ID --reason WHY')} --live REMOTE_ID | {ways[it]} | --give-up`" for it in wanted
    )
    return " or ".join(said)


def row(job: JsonDict, cause: str, died_at: str | None, error: str | None, resolution: str | None) -> list[output.Cell]:
    about = [job[name] for name in ("type", "channel", "account", "attempts")]
    return [job["id"], cause, *about, output.parse_instant(died_at), error, resolution]


@commands.command("show")
@with_target
def show(job_id: JobId, as_json: Json = False, *, target: Target) -> None:
    """Everything about one dead letter: why, its payload, every attempt, the last stack trace."""
    wanted = parse_uuid(job_id)
    with open_api(target) as postino:
        letter = postino.dead_letters.get(wanted)
    if as_json:
        output.print_json(letter)
        return
    about: dict[str, output.Cell] = {"cause": letter["cause"], "died_at": output.parse_instant(letter["died_at"])}
    about |= {"resolved_at": output.parse_instant(letter["resolved_at"]), "resolution": letter["resolution"]}
    job_view.show_job(letter["job"], about)
    job_view.show_history(letter["history"])
    if output.is_terminal() and letter["resolved_at"] is None:
        output.print_line("\nWhat you can do")
        for words in next_steps(letter):
            output.print_line(f"  {target.format_command(words)}")


def next_steps(letter: JsonDict) -> list[str]:
    unchanged = explain_refusal(DeadLetterCause(letter["cause"]), edited=False, force=False) is None
    replays = [""] if unchanged else [" --payload JSON", " --force"]
    return [*(f"dead replay {letter['id']}{how}" for how in replays), f"dead discard {letter['id']} --reason WHY"]


@commands.command("replay")
@with_target
def replay(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The jobs' ids.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter.")] = False,
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
    """Run dead letters again, named or by type, channel or cause. One that is refused does not stop the others."""
    chosen = {name: value for name, value in (("type", type), ("channel", channel), ("cause", cause)) if value}
    if bool(ids) == (everything or bool(chosen)):
        raise WrongUse("Give either ids, or --all, --type, --channel or --cause.", field="ids")
    if payload is not None and len(ids or ()) != 1:
        raise WrongUse("payload: goes with exactly one id.", field="payload")
    edited = parse_payload(payload)
    wanted = [str(parse_uuid(text)) for text in ids or ()]
    with open_api(target) as postino:
        if len(wanted) == 1:
            try:
                job = postino.dead_letters.replay(wanted[0], **edited, force=force, reason=reason)
            except Conflict as refusal:
                raise job_view.refused(refusal) from refusal
            results = [done(job["id"], job=job)]
        else:
            deed = postino.dead_letters.replay_many
            results = [*each(deed, wanted, None if wanted else chosen, force=force, reason=reason)]
    report(results, lambda it: job_view.replayed(it["job"]), as_json=as_json)


@commands.command("discard")
@with_target
def discard(ids: Ids, reason: RequiredReason, as_json: Json = False, *, target: Target) -> None:
    """Lay dead letters aside for good: nothing runs again, the record stays."""
    wanted, why = [str(parse_uuid(text)) for text in ids], check_reason(reason)
    with open_api(target) as postino:
        if len(wanted) == 1:
            letter = postino.dead_letters.discard(wanted[0], reason=why)
            results = [done(letter["id"], dead_letter=letter)]
        else:
            results = [*each(postino.dead_letters.discard_many, wanted, None, reason=why)]
    report(results, lambda _: "discarded", as_json=as_json)


def done(job_id: str, **what: Any) -> JsonDict:
    return {"id": job_id, "done": True, **what}


def each(
    deed: Callable[..., Any], ids: Sequence[str], chosen: Mapping[str, Any] | None, **how: Any
) -> Iterator[JsonDict]:
    """What became of each, as many at a time as the API takes: those named, or towards older jobs those chosen."""
    for start in range(0, len(ids), A_PAGE):
        yield from deed(ids=ids[start : start + A_PAGE], **how)["data"]
    place: dict[str, Any] = {}
    while chosen is not None:
        page = deed(filter={**chosen, **place}, **how)
        yield from page["data"]
        if page["next_cursor"] is None:
            return
        place = {"before": page["next_cursor"]}


def report(results: Sequence[JsonDict], what: Done, *, as_json: bool) -> None:
    from postino.client.errors import ERROR_TYPES

    if as_json:
        output.print_json_list(results)
    elif not results:
        output.print_hint("There are no such dead letters: nothing was done.")
    else:
        rows = [
            (it["id"], what(it), None) if it["done"] else (it["id"], "refused", job_view.in_options(it["detail"]))
            for it in results
        ]
        output.print_table(("ID", "RESULT", "WHY"), rows)
    if refused := [ERROR_TYPES[it["status"]].exit_code for it in results if not it["done"]]:
        raise typer.Exit(errors.exit_code(refused))
