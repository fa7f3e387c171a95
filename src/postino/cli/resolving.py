"""`postino posts resolve`: a person's word about posts of which nobody else can tell whether they are out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from postino.cli import output, post_details, refusals
from postino.cli.jobs import verdict_from
from postino.cli.options import DatabaseUrl, DataDir, Json, NeededReason, reason_from, uuid_from
from postino.cli.session import Where, actor, perform
from postino.errors import Conflict, PostinoError, WrongUse
from postino.job import State
from postino.outcome import Done, Reject, Retry

if TYPE_CHECKING:
    from postino.wiring import Postino

TOGETHER = 500
Verdict = Done | Retry | Reject
Result = tuple[UUID, dict[str, Any] | PostinoError]


def resolve(
    reason: NeededReason,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The posts' ids.")] = None,
    held: Annotated[
        bool, typer.Option("--held", help="All that are held because the database may be a copy or from a backup.")
    ] = False,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It is out, under this id.", show_default=False),
    ] = None,
    send_again: Annotated[bool, typer.Option("--send-again", help="It is not out: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Leave it; it counts as failed.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Say what happened to uncertain posts, which are never sent again blindly."""
    verdict = verdict_from(live, send_again, give_up, reason_from(reason), again_by="--send-again")
    if bool(ids) == held:
        raise WrongUse("Give either the posts' ids or --held.", field="ids")
    if live is not None and len(ids or ()) != 1:
        raise WrongUse("live: goes with exactly one post.", field="live")
    named = [uuid_from(text, what="post") for text in ids or ()]

    async def work(app: "Postino") -> list[Result]:
        wanted = await held_posts(app) if held else named
        return [(post_id, await resolved(app, post_id, verdict, reason)) for post_id in wanted]

    report(perform(Where(data_dir, database_url), work), single=len(named) == 1, as_json=as_json)


async def held_posts(app: "Postino") -> list[UUID]:
    """Those that wait because of where the database is, or was."""
    from postino.post import PostFilter

    found: list[UUID] = []
    before: UUID | None = None
    while page := await app.posts.list(PostFilter(states=(State.UNCERTAIN,), before=before, limit=TOGETHER)):
        found += [post.job.id for post in page if post.job.run_at is None and post.job.deferred is not None]
        before = page[-1].job.id
    return found


async def resolved(app: "Postino", post_id: UUID, verdict: Verdict, reason: str) -> dict[str, Any] | PostinoError:
    """How the post stands now, or why it was refused."""
    try:
        await app.posts.get(post_id)
        await app.resolve(post_id, verdict, reason=reason, actor=actor())
    except Conflict as refusal:
        return post_details.refused(refusal, post_id)
    except PostinoError as refusal:
        return refusal
    return await app.teller.post(await app.posts.get(post_id))


def report(results: Sequence[Result], *, single: bool, as_json: bool) -> None:
    refused = [result for _, result in results if isinstance(result, PostinoError)]
    if single and refused:
        raise refused[0]
    if as_json:
        told = [shaped(post_id, result) for post_id, result in results]
        output.as_json(told[0]) if single else output.as_list(told)
    elif not results:
        output.hint("No post is held: nothing was done.")
    else:
        for post_id, result in results:
            output.write(sentence(post_id, result))
    if refused:
        raise typer.Exit(refusals.exit_code(refused))


def sentence(post_id: UUID, result: dict[str, Any] | PostinoError) -> str:
    if isinstance(result, PostinoError):
        return str(result)
    return f"Post {post_id} is resolved{post_details.stands(result)}."


def shaped(post_id: UUID, result: dict[str, Any] | PostinoError) -> dict[str, Any]:
    if isinstance(result, PostinoError):
        return {"id": str(post_id), "error": refusals.described(result)}
    return result
