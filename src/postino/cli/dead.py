"""`postino dead`: jobs that failed, until a person replays or discards them. Never by itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from postino.cli import details, output, refusals
from postino.cli.lists import A_PAGE, listed, tell_more
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
from postino.rules.replay import explain_refusal
from postino.rules.settlement import DeadLetterCause
from postino.values.post import POST

commands = typer.Typer(help="Jobs that failed: look, replay, discard.", no_args_is_help=True)
COLUMNS = ("ID", "CAUSE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "DIED_AT", "ERROR", "RESOLVED")

OfCause = Annotated[
    DeadLetterCause | None, typer.Option("--cause", help="Only those of this cause.", show_default=False)
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The jobs' ids.", show_default=False)]
Told = Mapping[str, Any]
Done = Callable[[Told], str]


@commands.command("list")
@placed
def list_dead(
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Also those replayed or discarded.")] = False,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Dead letters, the newest job first; and beside them the uncertain jobs that wait for a person."""
    alike, place = {"type": type, "channel": channel}, cursor_from(before)
    waiting: list[Any] = []
    with house(where) as postino:
        letters, cursor = listed(postino.dead_letters.page, limit, place, **alike, cause=cause, resolved=resolved)
        if cause is None and before is None:
            unsure, _ = listed(postino.jobs.page, limit, None, **alike, state="uncertain")
            waiting = [job for job in unsure if job["run_at"] is None]
    if as_json:
        output.as_list(letters, cursor, uncertain=waiting)
        return
    rows = [row(it["job"], it["cause"], it["died_at"], it["error"], it["resolution"]) for it in letters]
    rows += [row(job, "uncertain", None, job["last_error"], None) for job in waiting]
    output.table(COLUMNS, rows, empty="There are no dead letters.")
    if waiting:
        output.hint(f"Uncertain ones wait for a word: {resolving(waiting, where)}")
    tell_more(cursor)


def resolving(waiting: Sequence[Told], where: Where) -> str:
    """By which command: posts have one of their own."""
    ways = {"posts resolve": "--send-again", "jobs resolve": "--again"}
    wanted = sorted({"posts resolve" if job["type"] == POST else "jobs resolve" for job in waiting}, reverse=True)
    said = (f"`{where.command(f'{it} ID --reason WHY')} --live REMOTE_ID | {ways[it]} | --give-up`" for it in wanted)
    return " or ".join(said)


def row(job: Told, cause: str, died_at: str | None, error: str | None, resolution: str | None) -> list[output.Cell]:
    about = [job[name] for name in ("type", "channel", "account", "attempts")]
    return [job["id"], cause, *about, output.at(died_at), error, resolution]


@commands.command("show")
@placed
def show(job_id: JobId, as_json: Json = False, *, where: Where) -> None:
    """Everything about one dead letter: why, its payload, every attempt, the last stack trace."""
    wanted = uuid_from(job_id)
    with house(where) as postino:
        letter = postino.dead_letters.get(wanted)
    if as_json:
        output.as_json(letter)
        return
    about: dict[str, output.Cell] = {"cause": letter["cause"], "died_at": output.at(letter["died_at"])}
    about |= {"resolved_at": output.at(letter["resolved_at"]), "resolution": letter["resolution"]}
    details.show_job(letter["job"], about)
    details.show_history(letter["history"])
    if output.is_terminal() and letter["resolved_at"] is None:
        output.write("\nWhat you can do")
        for words in next_steps(letter):
            output.write(f"  {where.command(words)}")


def next_steps(letter: Told) -> list[str]:
    unchanged = explain_refusal(DeadLetterCause(letter["cause"]), edited=False, force=False) is None
    replays = [""] if unchanged else [" --payload JSON", " --force"]
    return [*(f"dead replay {letter['id']}{how}" for how in replays), f"dead discard {letter['id']} --reason WHY"]


@commands.command("replay")
@placed
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
    where: Where,
) -> None:
    """Run dead letters again, named or by type, channel or cause. One that is refused does not stop the others."""
    chosen = {name: value for name, value in (("type", type), ("channel", channel), ("cause", cause)) if value}
    if bool(ids) == (everything or bool(chosen)):
        raise WrongUse("Give either ids, or --all, --type, --channel or --cause.", field="ids")
    if payload is not None and len(ids or ()) != 1:
        raise WrongUse("payload: goes with exactly one id.", field="payload")
    edited = payload_from(payload)
    wanted = [str(uuid_from(text)) for text in ids or ()]
    with house(where) as postino:
        if len(wanted) == 1:
            try:
                job = postino.dead_letters.replay(wanted[0], **edited, force=force, reason=reason)
            except Conflict as refusal:
                raise details.refused(refusal) from refusal
            results = [done(job["id"], job=job)]
        else:
            deed = postino.dead_letters.replay_many
            results = [*each(deed, wanted, None if wanted else chosen, force=force, reason=reason)]
    report(results, lambda it: details.replayed(it["job"]), as_json=as_json)


@commands.command("discard")
@placed
def discard(ids: Ids, reason: NeededReason, as_json: Json = False, *, where: Where) -> None:
    """Lay dead letters aside for good: nothing runs again, the record stays."""
    wanted, why = [str(uuid_from(text)) for text in ids], reason_from(reason)
    with house(where) as postino:
        if len(wanted) == 1:
            letter = postino.dead_letters.discard(wanted[0], reason=why)
            results = [done(letter["id"], dead_letter=letter)]
        else:
            results = [*each(postino.dead_letters.discard_many, wanted, None, reason=why)]
    report(results, lambda _: "discarded", as_json=as_json)


def done(job_id: str, **what: Any) -> Told:
    return {"id": job_id, "done": True, **what}


def each(deed: Callable[..., Any], ids: Sequence[str], chosen: Mapping[str, Any] | None, **how: Any) -> Iterator[Told]:
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


def report(results: Sequence[Told], what: Done, *, as_json: bool) -> None:
    from postino.client.errors import ERROR_TYPES

    if as_json:
        output.as_list(results)
    elif not results:
        output.hint("There are no such dead letters: nothing was done.")
    else:
        rows = [
            (it["id"], what(it), None) if it["done"] else (it["id"], "refused", details.in_options(it["detail"]))
            for it in results
        ]
        output.table(("ID", "RESULT", "WHY"), rows)
    if refused := [ERROR_TYPES[it["status"]].exit_code for it in results if not it["done"]]:
        raise typer.Exit(refusals.exit_code(refused))
