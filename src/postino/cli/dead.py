"""`postino dead`: jobs that failed, until a person replays or discards them. Never by itself."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from postino.cli import details, output, refusals, shapes
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
from postino.errors import Conflict, NotFound, PostinoError, WrongUse
from postino.job import Job, State
from postino.rules.replay import why_not
from postino.rules.settlement import Cause
from postino.store import DeadFilter, DeadLetter, JobFilter

if TYPE_CHECKING:
    from postino.app import App

commands = typer.Typer(help="Jobs that failed: look, replay, discard.", no_args_is_help=True)
COLUMNS = ("ID", "CAUSE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "DIED_AT", "ERROR", "RESOLVED")
TOGETHER = 500

OfCause = Annotated[Cause | None, typer.Option("--cause", help="Only those of this cause.", show_default=False)]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="The jobs' ids.", show_default=False)]
Result = tuple[UUID, Job | DeadLetter | PostinoError]


@commands.command("list")
def list_dead(
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Also those replayed or discarded.")] = False,
    limit: Limit = 50,
    before: Before = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Dead letters, the newest job first; and beside them the uncertain jobs that wait for a person."""
    wanted = DeadFilter(
        type=type, channel=channel, cause=cause, resolved=resolved, before=cursor_from(before), limit=limit + 1
    )
    uncertain = JobFilter(states=(State.UNCERTAIN,), type=type, channel=channel, limit=limit)

    async def read(app: "App") -> tuple[Sequence[DeadLetter], Sequence[Job]]:
        beside = await app.store.list(uncertain) if cause is None and before is None else ()
        return await app.store.dead_letters(wanted), [job for job in beside if job.run_at is None]

    where = Where(data_dir, database_url)
    found, waiting = perform(where, read)
    letters, cursor = found[:limit], str(found[limit - 1].job.id) if len(found) > limit else None
    if as_json:
        output.as_list([*map(shapes.of_letter, letters)], cursor, uncertain=[*map(shapes.of_job, waiting)])
        return
    rows = [row(it.job, it.cause, it.died_at, it.error, it.resolution) for it in letters]
    rows += [row(job, "uncertain", None, job.last_error, None) for job in waiting]
    output.table(COLUMNS, rows, empty="There are no dead letters.")
    if waiting:
        said = where.command("jobs resolve ID --reason WHY")
        output.hint(f"Uncertain jobs wait for a word: {said} --live REMOTE_ID | --again | --give-up")
    if cursor is not None:
        output.hint(f"There are more: --before {cursor}")


def row(job: Job, cause: str, died_at: output.Cell, error: str | None, resolution: str | None) -> list[output.Cell]:
    return [str(job.id), str(cause), job.type, job.channel, job.account, job.attempts, died_at, error, resolution]


@commands.command("show")
def show(job_id: JobId, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Everything about one dead letter: why, its payload, every attempt, the last stack trace."""
    wanted, where = uuid_from(job_id), Where(data_dir, database_url)
    letter = perform(where, lambda app: app.store.dead_letter(wanted))
    if as_json:
        output.as_json(shapes.of_letter(letter))
        return
    about: dict[str, output.Cell] = {"cause": letter.cause.value, "died_at": letter.died_at}
    details.show_job(letter.job, about | {"resolved_at": letter.resolved_at, "resolution": letter.resolution})
    details.show_history(letter.history)
    if output.is_terminal() and letter.resolved_at is None:
        output.write("\nWhat you can do")
        for words in next_steps(letter):
            output.write(f"  {where.command(words)}")


def next_steps(letter: DeadLetter) -> list[str]:
    unchanged = why_not(letter.cause, edited=False, force=False) is None
    replays = [""] if unchanged else [" --payload JSON", " --force"]
    return [*(f"dead replay {letter.job.id}{how}" for how in replays), f"dead discard {letter.job.id} --reason WHY"]


@commands.command("replay")
def replay(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The jobs' ids.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead letter.")] = False,
    type: Type = None,
    channel: Channel = None,
    cause: OfCause = None,
    payload: Payload = None,
    force: Force = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Run dead letters again, named or by type, channel or cause. One that is refused does not stop the others."""
    chosen = everything or type is not None or channel is not None or cause is not None
    if bool(ids) == chosen:
        raise WrongUse("Give either ids, or --all, --type, --channel or --cause.", field="ids")
    if payload is not None and len(ids or ()) != 1:
        raise WrongUse("payload: goes with exactly one id.", field="payload")
    edited = payload_from(payload)
    wanted = [uuid_from(text) for text in ids or ()]
    act: dict[str, Any] = {"force": force, "reason": reason, "actor": actor()}

    async def work(app: "App") -> list[Result]:
        if chosen:
            return await replay_chosen(app, DeadFilter(type=type, channel=channel, cause=cause, limit=TOGETHER), act)
        return await each(wanted, lambda job_id: replay_one(app, job_id, edited, act))

    report(perform(Where(data_dir, database_url), work), details.replayed, as_json=as_json)


async def replay_one(app: "App", job_id: UUID, payload: bytes | None, act: dict[str, Any]) -> Job:
    try:
        return await app.replay(job_id, payload=payload, **act)
    except Conflict as refusal:
        raise details.refused(refusal) from refusal


async def replay_chosen(app: "App", wanted: DeadFilter, act: dict[str, Any]) -> list[Result]:
    """Page by page towards older jobs: one that dies again meanwhile is not taken twice."""
    results: list[Result] = []
    while page := await app.replay_many(wanted, **act):
        results += [(it.job.id, details.refused(end) if isinstance(end, Conflict) else end) for it, end in page]
        wanted = replace(wanted, before=page[-1][0].job.id)
    return results


@commands.command("discard")
def discard(
    ids: Ids,
    reason: NeededReason,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Lay dead letters aside for good: nothing runs again, the record stays."""
    wanted, why = [uuid_from(text) for text in ids], reason_from(reason)

    async def work(app: "App") -> list[Result]:
        return await each(wanted, lambda job_id: app.discard(job_id, reason=why, actor=actor()))

    report(perform(Where(data_dir, database_url), work), lambda _: "discarded", as_json=as_json)


async def each(ids: Sequence[UUID], act: Callable[[UUID], Awaitable[Job | DeadLetter]]) -> list[Result]:
    """Does it to each; a refusal of one of several is its result, that of a single one is the command's."""
    results: list[Result] = []
    for job_id in ids:
        try:
            results.append((job_id, await act(job_id)))
        except (Conflict, NotFound) as refusal:
            if len(ids) == 1:
                raise
            results.append((job_id, refusal))
    return results


def report(results: Sequence[Result], done: Callable[[Any], str], *, as_json: bool) -> None:
    refused = [result for _, result in results if isinstance(result, PostinoError)]
    if as_json:
        output.as_list([shaped(job_id, result, done) for job_id, result in results])
    elif not results:
        output.hint("There are no such dead letters: nothing was done.")
    else:
        rows = [
            (str(job_id), "refused", str(result))
            if isinstance(result, PostinoError)
            else (str(job_id), done(result), None)
            for job_id, result in results
        ]
        output.table(("ID", "RESULT", "WHY"), rows)
    if refused:
        raise typer.Exit(refusals.exit_code(refused))


def shaped(job_id: UUID, result: Any, done: Callable[[Any], str]) -> dict[str, Any]:
    match result:
        case PostinoError():
            return {"id": str(job_id), "result": "refused", "error": refusals.described(result)}
        case DeadLetter():
            return {"id": str(job_id), "result": done(result), "dead_letter": shapes.of_letter(result)}
        case _:
            return {"id": str(job_id), "result": done(result), "job": shapes.of_job(result)}
