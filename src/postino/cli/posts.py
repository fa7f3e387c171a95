"""`postino posts`: list, show, edit, cancel, replay and resolve posts."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import explain, follow, import_posts, output, post_view, resolve
from postino.cli.connection import Target, open_api
from postino.cli.content_options import (
    Alts,
    At,
    Hashtags,
    MediaUrls,
    Thread,
    Timezone,
    Title,
    Until,
    build_content,
    read_text,
)
from postino.cli.errors import use_option_names
from postino.cli.options import Before, Force, Json, Limit, Reason, parse_cursor, parse_uuid, with_target
from postino.cli.pagination import fetch_items, print_next_page_hint
from postino.cli.resolve_name import match_account
from postino.errors import WrongUse
from postino.rules.post_status import PostStatus

commands = typer.Typer(help="List, show, edit, reschedule, cancel, replay and resolve posts.", no_args_is_help=True)
PostId = Annotated[str, typer.Argument(metavar="ID", help="Id of the post.", show_default=False)]


@commands.command("list")
@with_target
def list_posts(
    status: Annotated[
        list[PostStatus] | None,
        typer.Option("--status", help="Only posts with this status; may be repeated.", show_default=False),
    ] = None,
    network: Annotated[
        str | None, typer.Option("--network", help="Only posts on this network.", show_default=False)
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", help="Only posts of this account.", show_default=False)
    ] = None,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """List posts, newest first."""
    filters: dict[str, Any] = {"status": ",".join(status) if status else None, "network": network}
    place = parse_cursor(before)
    with open_api(target) as postino:
        if account is not None:
            filters["account"] = match_account(account, postino.accounts.list()["data"])
        posts, cursor = fetch_items(postino.posts.list, limit, place, **filters)
    if as_json:
        output.print_json_list(posts, cursor)
        return
    post_view.print_posts(posts)
    if waiting := sum(post["needs_person"] for post in posts):
        verb, command = "waits" if waiting == 1 else "wait", target.format_command("posts show ID")
        output.print_hint(f"{waiting} of these {verb} for a person. Run `{command}` to see what to do.")
    print_next_page_hint(cursor)


@commands.command("show")
@with_target
def show(post_id: PostId, as_json: Json = False, *, target: Target) -> None:
    """Show a post with its attempts and visible calls."""
    checked = parse_uuid(post_id, what="post")
    with open_api(target) as postino:
        view = postino.posts.get(checked)
    if as_json:
        output.print_json(view)
    else:
        post_view.print_details(view, target)


@commands.command("edit")
@with_target
def edit(
    post_id: PostId,
    text: Annotated[
        str | None, typer.Option("--text", help="New text; - reads standard input.", show_default=False)
    ] = None,
    title: Title = None,
    media: MediaUrls = None,
    alt: Alts = None,
    thread: Thread = None,
    hashtag: Hashtags = None,
    publish_until: Until = None,
    timezone: Timezone = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Change a post of which nothing has been sent.

    Fields without an option stay.
    """
    checked = parse_uuid(post_id, what="post")
    changes = build_content(read_text(text), title, media, alt, thread, hashtag, publish_until=publish_until)
    if not changes:
        raise WrongUse("Pass at least one change: --text, --title, --media, --thread, --hashtag or --publish-until.")
    if timezone is not None:
        changes["timezone"] = timezone
    with use_option_names(), open_api(target) as postino:
        view = postino.posts.edit(checked, **changes, reason=reason)
    print_post(view, "is edited", timezone, as_json=as_json)


@commands.command("reschedule")
@with_target
def reschedule(
    post_id: PostId,
    at: At = None,
    timezone: Timezone = None,
    now: Annotated[bool, typer.Option("--now", help="Publish now.")] = False,
    allow_blackout: Annotated[
        bool, typer.Option("--allow-blackout", help="With --now: publish even during a blackout.")
    ] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Reschedule a post of which nothing has been sent, or publish it now."""
    if (at is not None) == now:
        raise WrongUse("Pass either --at TIME or --now.", field="at")
    checked = parse_uuid(post_id, what="post")
    view: Mapping[str, Any]
    with use_option_names(), open_api(target) as postino:
        if now:
            published = postino.posts.publish_now(checked, allow_blackout=allow_blackout, reason=reason)
            view = {**published, "notes": []}
        else:
            view = postino.posts.edit(checked, at=at, timezone=timezone, reason=reason)
    print_post(view, "is rescheduled", timezone, as_json=as_json)
    if now and not as_json and (deferral := follow.describe_deferral(view, target)) is not None:
        output.print_hint(deferral)


@commands.command("cancel")
@with_target
def cancel(post_id: PostId, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Cancel a post of which nothing has been sent, even while a worker prepares it.

    This cannot be undone.
    """
    checked = parse_uuid(post_id, what="post")
    with open_api(target) as postino:
        view = postino.posts.cancel(checked, reason=reason)
    print_post(view, "is cancelled", as_json=as_json)


@commands.command("replay")
@with_target
def replay(
    post_id: PostId, force: Force = False, reason: Reason = "", as_json: Json = False, *, target: Target
) -> None:
    """Publish a failed post again."""
    checked = parse_uuid(post_id, what="post")
    with use_option_names(), open_api(target) as postino:
        view = postino.posts.replay(checked, force=force, reason=reason)
    print_post(view, "is queued again", as_json=as_json)


def print_post(view: Mapping[str, Any], done: str, timezone: str | None = None, *, as_json: bool) -> None:
    """Print the status of a post, with its notes."""
    status = post_view.describe_status(view, done, timezone)
    output.print_result(view, f"Post {view['id']} {done}{status}.", as_json=as_json)
    for note in () if as_json else view.get("notes", ()):
        output.print_hint(note)


commands.command("resolve")(resolve.resolve)
commands.command("explain")(explain.explain_post)
commands.command("import")(import_posts.import_posts)
