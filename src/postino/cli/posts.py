"""`postino posts`: look at posts, change what has not been sent, and decide about what went wrong."""

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
from postino.cli.errors import in_options
from postino.cli.options import Before, Force, Json, Limit, Reason, parse_cursor, parse_uuid, with_target
from postino.cli.pagination import fetch_items, print_next_page_hint
from postino.cli.resolve_name import match_account
from postino.errors import WrongUse
from postino.rules.post_status import PostStatus

commands = typer.Typer(help="Look at posts; edit, cancel, reschedule, replay or resolve one.", no_args_is_help=True)
commands.command("resolve")(resolve.resolve)
commands.command("explain")(explain.explain_post)
commands.command("import")(import_posts.import_posts)
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]


@commands.command("list")
@with_target
def list_posts(
    status: Annotated[
        list[PostStatus] | None, typer.Option("--status", help="Only those; may be repeated.", show_default=False)
    ] = None,
    network: Annotated[str | None, typer.Option("--network", help="Only this network.", show_default=False)] = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)] = None,
    limit: Limit = 50,
    before: Before = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Posts, the newest first."""
    wanted: dict[str, Any] = {"status": ",".join(status) if status else None, "network": network}
    place = parse_cursor(before)
    with open_api(target) as postino:
        if account is not None:
            wanted["account"] = match_account(account, postino.accounts.page()["data"])
        posts, cursor = fetch_items(postino.posts.page, limit, place, **wanted)
    if as_json:
        output.print_json_list(posts, cursor)
        return
    post_view.show_list(posts)
    if waiting := sum(told["needs_person"] for told in posts):
        wait = "waits" if waiting == 1 else "wait"
        output.print_hint(
            f"{waiting} of these {wait} for a person: {target.format_command('posts show ID')} says what to do."
        )
    print_next_page_hint(cursor)


@commands.command("show")
@with_target
def show(post_id: PostId, as_json: Json = False, *, target: Target) -> None:
    """Everything about one post: how it stands, every try, and every call that left."""
    wanted = parse_uuid(post_id, what="post")
    with open_api(target) as postino:
        told = postino.posts.get(wanted)
    if as_json:
        output.print_json(told)
    else:
        post_view.show(told, target)


@commands.command("edit")
@with_target
def edit(
    post_id: PostId,
    text: Annotated[
        str | None, typer.Option("--text", help="What to say; - reads it from standard input.", show_default=False)
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
    """Change what a post says, while nothing of it has been sent. What is left out stays."""
    wanted = parse_uuid(post_id, what="post")
    said = build_content(read_text(text), title, media, alt, thread, hashtag, publish_until=publish_until)
    if not said:
        raise WrongUse("Say what to change: --text, --title, --media, --thread, --hashtag or --publish-until.")
    if timezone is not None:
        said["timezone"] = timezone
    with in_options(), open_api(target) as postino:
        told = postino.posts.edit(wanted, **said, reason=reason)
    answer(told, "is edited", timezone, as_json=as_json)


@commands.command("reschedule")
@with_target
def reschedule(
    post_id: PostId,
    at: At = None,
    timezone: Timezone = None,
    now: Annotated[bool, typer.Option("--now", help="Publish it now.")] = False,
    allow_blackout: Annotated[bool, typer.Option("--allow-blackout", help="With --now: in a blackout, too.")] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Publish at another time, or now, while nothing of it has been sent."""
    if (at is not None) == now:
        raise WrongUse("Give either --at TIME or --now.", field="at")
    wanted = parse_uuid(post_id, what="post")
    told: Mapping[str, Any]
    with in_options(), open_api(target) as postino:
        if now:
            hurried = postino.posts.publish_now(wanted, allow_blackout=allow_blackout, reason=reason)
            told = {**hurried, "notes": []}
        else:
            told = postino.posts.edit(wanted, at=at, timezone=timezone, reason=reason)
    answer(told, "is rescheduled", timezone, as_json=as_json)
    if now and not as_json and (kept := follow.describe_deferral(told, target)) is not None:
        output.print_hint(output.escape_control_characters(kept))


@commands.command("cancel")
@with_target
def cancel(post_id: PostId, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Cancel a post of which nothing has been sent. Final."""
    wanted = parse_uuid(post_id, what="post")
    with open_api(target) as postino:
        told = postino.posts.cancel(wanted, reason=reason)
    answer(told, "is cancelled", as_json=as_json)


@commands.command("replay")
@with_target
def replay(
    post_id: PostId, force: Force = False, reason: Reason = "", as_json: Json = False, *, target: Target
) -> None:
    """Publish a failed post again: its key and its history stay."""
    wanted = parse_uuid(post_id, what="post")
    with in_options(), open_api(target) as postino:
        told = postino.posts.replay(wanted, force=force, reason=reason)
    answer(told, "is tried again", as_json=as_json)


def answer(told: Mapping[str, Any], done: str, timezone: str | None = None, *, as_json: bool) -> None:
    """How the post stands now, with what there is to note."""
    stands = post_view.stands(told, done, timezone)
    output.print_result(told, f"Post {told['id']} {done}{stands}.", as_json=as_json)
    for note in () if as_json else told.get("notes", ()):
        output.print_hint(note)
