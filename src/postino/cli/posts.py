"""`postino posts`: look at posts, change what has not been sent, and decide about what went wrong."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from postino.cli import jobs_explain, output, post_details, resolving
from postino.cli.contents import (
    Alts,
    At,
    Hashtags,
    MediaUrls,
    Thread,
    Timezone,
    Title,
    Until,
    content_from,
    instant_from,
    text_from,
)
from postino.cli.options import (
    Before,
    DatabaseUrl,
    DataDir,
    Force,
    Json,
    Limit,
    Reason,
    cursor_from,
    uuid_from,
)
from postino.cli.session import Where, actor, perform
from postino.errors import Conflict, WrongUse
from postino.rules.standing import STATUS, PostStatus

if TYPE_CHECKING:
    from postino.job import Job
    from postino.wiring import Postino

commands = typer.Typer(help="Look at posts; edit, cancel, reschedule, replay or resolve one.", no_args_is_help=True)
STATES = {status: state for state, status in STATUS.items()}
commands.command("resolve")(resolving.resolve)
commands.command("explain")(jobs_explain.explain_post)
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]


@commands.command("list")
def list_posts(
    status: Annotated[
        list[PostStatus] | None, typer.Option("--status", help="Only those; may be repeated.", show_default=False)
    ] = None,
    network: Annotated[str | None, typer.Option("--network", help="Only this network.", show_default=False)] = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)] = None,
    limit: Limit = 50,
    before: Before = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Posts, the newest first."""
    from postino.cli.naming import account_named
    from postino.post import PostFilter

    async def read(app: "Postino") -> list[dict[str, Any]]:
        check_network(network, app.networks.providers)
        wanted = PostFilter(
            states=tuple(STATES[one] for one in status or ()),
            network=network,
            account=None if account is None else account_named(account, await app.store.accounts()).id,
            before=cursor_from(before),
            limit=limit + 1,  # one more tells whether there are more
        )
        return await app.teller.posts(await app.posts.list(wanted))

    where = Where(data_dir, database_url)
    found = perform(where, read)
    posts, cursor = found[:limit], found[limit - 1]["id"] if len(found) > limit else None
    if as_json:
        output.as_list(posts, cursor)
        return
    post_details.show_list(posts)
    if waiting := sum(told["needs_person"] for told in posts):
        wait = "waits" if waiting == 1 else "wait"
        output.hint(f"{waiting} of these {wait} for a person: {where.command('posts show ID')} says what to do.")
    if cursor is not None:
        output.hint(f"There are more: --before {cursor}")


@commands.command("show")
def show(post_id: PostId, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Everything about one post: how it stands, every try, and every call that left."""
    wanted, where = uuid_from(post_id, what="post"), Where(data_dir, database_url)

    async def read(app: "Postino") -> dict[str, Any]:
        return await app.teller.details(await app.posts.get(wanted))

    told = perform(where, read)
    if as_json:
        output.as_json(told)
    else:
        post_details.show(told, where)


@commands.command("edit")
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
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Change what a post says, while nothing of it has been sent. What is left out stays."""
    from postino.engine.deeds import act
    from postino.publishing import contents

    if not any((text, title, media, alt, thread, hashtag, publish_until)):
        raise WrongUse("Say what to change: --text, --title, --media, --thread, --hashtag or --publish-until.")
    until_at = instant_from(publish_until, timezone, "publish_until", [])

    async def work(app: "Postino", wanted: UUID) -> None:
        before = contents.content_from((await app.posts.get(wanted)).content)
        content = content_from(before, text_from(text), title, media, alt, thread, hashtag)
        await app.posts.edit(wanted, content, act(actor(), reason), publish_until_at=until_at)

    decide(post_id, Where(data_dir, database_url), work, "is edited", as_json=as_json)


@commands.command("reschedule")
def reschedule(
    post_id: PostId,
    at: At = None,
    timezone: Timezone = None,
    now: Annotated[bool, typer.Option("--now", help="Publish it now.")] = False,
    allow_blackout: Annotated[bool, typer.Option("--allow-blackout", help="With --now: in a blackout, too.")] = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Publish at another time, or now, while nothing of it has been sent."""
    from postino.cli.following import told_of_kept
    from postino.engine.deeds import act

    if (at is not None) == now:
        raise WrongUse("Give either --at TIME or --now.", field="at")
    notes: list[str] = []
    wanted_at = instant_from(at, timezone, "at", notes)

    async def work(app: "Postino", wanted: UUID) -> None:
        if wanted_at is None:
            await app.posts.hurry(wanted, act(actor(), reason), allow_blackout=allow_blackout)
        else:
            notes.extend(await app.posts.notes([await app.posts.reschedule(wanted, wanted_at, act(actor(), reason))]))

    where = Where(data_dir, database_url)
    told = decide(post_id, where, work, "is rescheduled", as_json=as_json, notes=notes)
    if now and not as_json and (kept := told_of_kept(told, where)) is not None:
        output.hint(output.printable(kept))


@commands.command("cancel")
def cancel(
    post_id: PostId,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Cancel a post of which nothing has been sent. Final."""

    async def work(app: "Postino", wanted: UUID) -> "Job":
        return await app.cancel(wanted, reason=reason, actor=actor())

    decide(post_id, Where(data_dir, database_url), work, "is cancelled", as_json=as_json)


@commands.command("replay")
def replay(
    post_id: PostId,
    force: Force = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Publish a failed post again: its key and its history stay."""

    async def work(app: "Postino", wanted: UUID) -> "Job":
        return await app.replay(wanted, force=force, reason=reason, actor=actor())

    decide(post_id, Where(data_dir, database_url), work, "is tried again", as_json=as_json)


def decide(
    post_id: str,
    where: Where,
    work: Callable[["Postino", UUID], Awaitable[object]],
    done: str,
    *,
    as_json: bool,
    notes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Does it to a post that exists, and tells how the post stands now, with what there is to note."""
    from postino.publishing.blackouts import InBlackout

    wanted = uuid_from(post_id, what="post")

    async def run(app: "Postino") -> dict[str, Any]:
        await app.posts.get(wanted)
        try:
            await work(app, wanted)
        except InBlackout:
            raise
        except Conflict as refusal:
            raise post_details.refused(refusal, wanted) from refusal
        return await app.teller.post(await app.posts.get(wanted))

    told = perform(where, run)
    if as_json:
        output.as_json(told if notes is None else told | {"notes": [*notes]})
        return told
    output.write(f"Post {wanted} {done}{post_details.stands(told, done)}.")
    for note in notes or ():
        output.hint(note)
    return told


def check_network(name: str | None, own: Iterable[str]) -> None:
    from postino.content import NETWORKS
    from postino.engine.specs import nearest

    if name is not None and name not in (known := {*NETWORKS, *own}):
        hint = nearest(name, sorted(known))
        raise WrongUse(f"network: there is no network {name!r:.200}.{hint}", field="network")
