"""`postino posts resolve`: decide whether uncertain posts were published."""

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
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of the posts.")] = None,
    held: Annotated[
        bool, typer.Option("--held", help="All posts held because the database may be a copy or a backup.")
    ] = False,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="REMOTE_ID", help="It was published, with this id.", show_default=False),
    ] = None,
    send_again: Annotated[bool, typer.Option("--send-again", help="It was not published: send it again.")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Give up; it counts as failed.")] = False,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Say what happened to uncertain posts."""
    verdict = parse_verdict(live, send_again, give_up, check_reason(reason))
    if bool(ids) == held:
        raise WrongUse("Pass either ids or --held.", field="ids")
    if live is not None and len(ids or ()) != 1:
        raise WrongUse("live: needs exactly one post.", field="live")
    checked = [str(parse_uuid(text, what="post")) for text in ids or ()]
    with open_api(target) as postino:
        chosen = [*list_held_posts(postino)] if held else checked
        results = [(post_id, try_resolve(postino, post_id, verdict)) for post_id in chosen]
    print_results(results, single=len(checked) == 1, as_json=as_json)


def list_held_posts(postino: "QueueApi") -> Iterator[str]:
    """Yield posts held because the database was moved or restored."""
    for job in postino.jobs.iterate(state="uncertain", type=POST, limit=200):
        if job["run_at"] is None and job["deferral_reason"] is not None:
            yield job["id"]


def try_resolve(postino: "QueueApi", post_id: str, verdict: Mapping[str, Any]) -> Mapping[str, Any] | PostinoError:
    """Return the post after the decision, or the error."""
    try:
        return postino.posts.resolve(post_id, **verdict)
    except PostinoError as error:
        return error


def print_results(results: Sequence[Result], *, single: bool, as_json: bool) -> None:
    failed = [result for _, result in results if isinstance(result, PostinoError)]
    if single and failed:
        raise failed[0]
    if as_json:
        views = [to_json_view(post_id, result) for post_id, result in results]
        output.print_json(views[0]) if single else output.print_json_list(views)
    elif not results:
        output.print_hint("No post is held: nothing was done.")
    else:
        for post_id, result in results:
            output.print_line(describe_result(post_id, result))
    if failed:
        raise typer.Exit(errors.combine_exit_codes(error.exit_code for error in failed))


def describe_result(post_id: str, result: Mapping[str, Any] | PostinoError) -> str:
    if isinstance(result, PostinoError):
        return str(result)
    return f"Post {post_id} is resolved{post_view.describe_status(result)}."


def to_json_view(post_id: str, result: Mapping[str, Any] | PostinoError) -> Mapping[str, Any]:
    if isinstance(result, PostinoError):
        return {"id": post_id, "error": errors.describe_error(result)}
    return result
