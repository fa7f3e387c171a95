"""`postino posts`: look at posts, change what has not been sent, and decide about what went wrong."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import following, importing, jobs_explain, output, post_details, resolving
from postino.cli.contents import Alts, At, Hashtags, MediaUrls, Thread, Timezone, Title, Until, said_of, text_from
from postino.cli.lists import listed, tell_more
from postino.cli.naming import account_named
from postino.cli.options import Before, Force, Json, Limit, Reason, cursor_from, placed, uuid_from
from postino.cli.refusals import in_options
from postino.cli.session import Where, house
from postino.errors import WrongUse
from postino.rules.post_status import PostStatus

commands = typer.Typer(help="Look at posts; edit, cancel, reschedule, replay or resolve one.", no_args_is_help=True)
commands.command("resolve")(resolving.resolve)
commands.command("explain")(jobs_explain.explain_post)
commands.command("import")(importing.import_posts)
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]


@commands.command("list")
@placed
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
    where: Where,
) -> None:
    """Posts, the newest first."""
    wanted: dict[str, Any] = {"status": ",".join(status) if status else None, "network": network}
    place = cursor_from(before)
    with house(where) as postino:
        if account is not None:
            wanted["account"] = account_named(account, postino.accounts.page()["data"])
        posts, cursor = listed(postino.posts.page, limit, place, **wanted)
    if as_json:
        output.as_list(posts, cursor)
        return
    post_details.show_list(posts)
    if waiting := sum(told["needs_person"] for told in posts):
        wait = "waits" if waiting == 1 else "wait"
        output.hint(f"{waiting} of these {wait} for a person: {where.command('posts show ID')} says what to do.")
    tell_more(cursor)


@commands.command("show")
@placed
def show(post_id: PostId, as_json: Json = False, *, where: Where) -> None:
    """Everything about one post: how it stands, every try, and every call that left."""
    wanted = uuid_from(post_id, what="post")
    with house(where) as postino:
        told = postino.posts.get(wanted)
    if as_json:
        output.as_json(told)
    else:
        post_details.show(told, where)


@commands.command("edit")
@placed
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
    where: Where,
) -> None:
    """Change what a post says, while nothing of it has been sent. What is left out stays."""
    wanted = uuid_from(post_id, what="post")
    said = said_of(text_from(text), title, media, alt, thread, hashtag, publish_until=publish_until)
    if not said:
        raise WrongUse("Say what to change: --text, --title, --media, --thread, --hashtag or --publish-until.")
    if timezone is not None:
        said["timezone"] = timezone
    with in_options(), house(where) as postino:
        told = postino.posts.edit(wanted, **said, reason=reason)
    answer(told, "is edited", timezone, as_json=as_json)


@commands.command("reschedule")
@placed
def reschedule(
    post_id: PostId,
    at: At = None,
    timezone: Timezone = None,
    now: Annotated[bool, typer.Option("--now", help="Publish it now.")] = False,
    allow_blackout: Annotated[bool, typer.Option("--allow-blackout", help="With --now: in a blackout, too.")] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Publish at another time, or now, while nothing of it has been sent."""
    if (at is not None) == now:
        raise WrongUse("Give either --at TIME or --now.", field="at")
    wanted = uuid_from(post_id, what="post")
    told: Mapping[str, Any]
    with in_options(), house(where) as postino:
        if now:
            hurried = postino.posts.publish_now(wanted, allow_blackout=allow_blackout, reason=reason)
            told = {**hurried, "notes": []}
        else:
            told = postino.posts.edit(wanted, at=at, timezone=timezone, reason=reason)
    answer(told, "is rescheduled", timezone, as_json=as_json)
    if now and not as_json and (kept := following.told_of_kept(told, where)) is not None:
        output.hint(output.printable(kept))


@commands.command("cancel")
@placed
def cancel(post_id: PostId, reason: Reason = "", as_json: Json = False, *, where: Where) -> None:
    """Cancel a post of which nothing has been sent. Final."""
    wanted = uuid_from(post_id, what="post")
    with house(where) as postino:
        told = postino.posts.cancel(wanted, reason=reason)
    answer(told, "is cancelled", as_json=as_json)


@commands.command("replay")
@placed
def replay(post_id: PostId, force: Force = False, reason: Reason = "", as_json: Json = False, *, where: Where) -> None:
    """Publish a failed post again: its key and its history stay."""
    wanted = uuid_from(post_id, what="post")
    with in_options(), house(where) as postino:
        told = postino.posts.replay(wanted, force=force, reason=reason)
    answer(told, "is tried again", as_json=as_json)


def answer(told: Mapping[str, Any], done: str, timezone: str | None = None, *, as_json: bool) -> None:
    """How the post stands now, with what there is to note."""
    stands = post_details.stands(told, done, timezone)
    output.answer(told, f"Post {told['id']} {done}{stands}.", as_json=as_json)
    for note in () if as_json else told.get("notes", ()):
        output.hint(note)
