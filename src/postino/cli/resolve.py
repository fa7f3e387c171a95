"""`postino posts resolve`: a person's word about posts of which nobody else can tell whether they are out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import errors, output, post_view
from postino.cli.connection import Target, open_api
from postino.cli.jobs import parse_verdict
from postino.cli.options import Json, RequiredReason, check_reason, parse_uuid, with_target
from postino.errors import PostinoError, WrongUse
from postino.values.post import POST

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

Result = tuple[str, Mapping[str, Any] | PostinoError]


@with_target
def resolve(
    reason: RequiredReason,
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
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Say what happened to uncertain posts, which are never sent again blindly."""
    verdict = parse_verdict(live, send_again, give_up, check_reason(reason), again_by="--send-again")
    if bool(ids) == held:
        raise WrongUse("Give either the posts' ids or --held.", field="ids")
    if live is not None and len(ids or ()) != 1:
        raise WrongUse("live: goes with exactly one post.", field="live")
    named = [str(parse_uuid(text, what="post")) for text in ids or ()]
    with open_api(target) as postino:
        wanted = [*list_held_posts(postino)] if held else named
        results = [(post_id, resolved(postino, post_id, verdict)) for post_id in wanted]
    report(results, single=len(named) == 1, as_json=as_json)


def list_held_posts(postino: "QueueApi") -> Iterator[str]:
    """Those that wait because of where the database is, or was."""
    for job in postino.jobs.each(state="uncertain", type=POST, limit=200):
        if job["run_at"] is None and job["deferral_reason"] is not None:
            yield job["id"]


def resolved(postino: "QueueApi", post_id: str, verdict: Mapping[str, Any]) -> Mapping[str, Any] | PostinoError:
    """How the post stands now, or why it was refused."""
    try:
        return postino.posts.resolve(post_id, **verdict)
    except PostinoError as refusal:
        return refusal


def report(results: Sequence[Result], *, single: bool, as_json: bool) -> None:
    refused = [result for _, result in results if isinstance(result, PostinoError)]
    if single and refused:
        raise refused[0]
    if as_json:
        told = [shaped(post_id, result) for post_id, result in results]
        output.print_json(told[0]) if single else output.print_json_list(told)
    elif not results:
        output.print_hint("No post is held: nothing was done.")
    else:
        for post_id, result in results:
            output.print_line(sentence(post_id, result))
    if refused:
        raise typer.Exit(errors.exit_code(error.exit_code for error in refused))


def sentence(post_id: str, result: Mapping[str, Any] | PostinoError) -> str:
    if isinstance(result, PostinoError):
        return str(result)
    return f"Post {post_id} is resolved{post_view.stands(result)}."


def shaped(post_id: str, result: Mapping[str, Any] | PostinoError) -> Mapping[str, Any]:
    if isinstance(result, PostinoError):
        return {"id": post_id, "error": errors.described(result)}
    return result
