"""`postino post`: say something, now or later, by one account or many."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from postino.cli import output
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
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.session import Where, perform
from postino.content import Content
from postino.errors import Conflict

if TYPE_CHECKING:
    from postino.publishing.posts import Preview, Wish
    from postino.wiring import Postino

ACCOUNT_WIDTH, STATUS_WIDTH = 24, 10


def post(
    text: Annotated[str, typer.Argument(help="What to say; - reads it from standard input.", show_default=False)],
    to: Annotated[
        list[str],
        typer.Option(
            "--to", metavar="ACCOUNT", help="By id, or by network or handle where one fits; may be repeated."
        ),
    ],
    at: At = None,
    timezone: Timezone = None,
    media: MediaUrls = None,
    alt: Alts = None,
    thread: Thread = None,
    title: Title = None,
    hashtag: Hashtags = None,
    publish_until: Until = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show how it would look; queue nothing.")] = False,
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Even if the same has just been published.")
    ] = False,
    allow_blackout: Annotated[
        bool, typer.Option("--allow-blackout", help="Even in a blackout window.")
    ] = False,
    key: Annotated[
        str | None, typer.Option("--key", help="The same key again is the same post.", show_default=False)
    ] = None,
    wait: Annotated[
        bool | None,
        typer.Option("--wait/--no-wait", help="Until it is out. As usual: in a terminal.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Publish, now or at a time. What a network would refuse is refused here, and nothing is queued."""
    from postino.publishing.posts import Wish

    notes: list[str] = []
    content = content_from(Content(), text_from(text), title, media, alt, thread, hashtag)
    wish = Wish(
        content=content,
        accounts=tuple(to),
        at=instant_from(at, timezone, "at", notes),
        publish_until_at=instant_from(publish_until, timezone, "publish_until", notes),
        key=key,
        allow_duplicate=allow_duplicate,
        allow_blackout=allow_blackout,
    )
    where = Where(data_dir, database_url)
    if preview:
        show_previews(perform(where, lambda app: previewed(app, wish)), notes, as_json=as_json)
        return
    waits = at is None and (output.is_terminal() and not as_json if wait is None else wait)
    desk = Desk(where, notes, waits=waits, as_json=as_json)
    raise typer.Exit(perform(where, lambda app: desk.publish(app, wish)))


class Desk:
    """Puts a wish in, and tells what becomes of it."""

    def __init__(self, where: Where, notes: list[str], *, waits: bool, as_json: bool) -> None:
        self.where = where
        self.notes = notes
        self.waits = waits
        self.as_json = as_json

    async def publish(self, app: "Postino", wish: "Wish") -> int:
        """The exit code."""
        from postino.cli.following import kept_by
        from postino.publishing.telling import known_already, together

        try:
            written = await app.posts.schedule(await named(app, wish))
        except Conflict as refusal:
            refusal.args = (in_options(str(refusal)),)
            raise
        self.notes += [*known_already(written), *await app.posts.notes([one.post for one in written])]
        posts = await app.teller.posts([one.post for one in written])
        works = await somebody_works(app)
        if self.waits and works:
            posts = await self.followed(app, [one.post.job.id for one in written])
        elif not self.as_json:
            for told in posts:
                self.changed(told)
        if self.as_json:
            output.as_json(together(posts, self.notes))
        self.advise(posts, works=works)
        if wish.at is None and not self.as_json:
            self.tell_kept(posts)
        if self.waits and wish.at is None:
            return 0 if all(told["status"] == "published" or kept_by(told) for told in posts) else 1
        return 1 if any(told["status"] == "failed" or told["needs_person"] for told in posts) else 0

    async def followed(self, app: "Postino", ids: Sequence[UUID]) -> list[dict[str, Any]]:
        from postino.cli.following import follow

        try:
            return await follow(app, ids, self.changed)
        except asyncio.CancelledError:  # Ctrl-C
            output.hint(f"It goes on without you: {self.where.command(f'posts show {ids[0]}')}")
            raise

    def changed(self, told: dict[str, Any]) -> None:
        if not self.as_json:
            output.write(line(told))

    def advise(self, posts: Sequence[dict[str, Any]], *, works: bool) -> None:
        if not self.as_json:
            for note in self.notes:
                output.hint(note)
        if not works:
            output.hint(f"No worker is running: it goes out once one is. `{self.where.command('worker')}` starts one.")
        for told in posts:
            if told["needs_person"] and not self.as_json:
                resolve = self.where.command(f"posts resolve {told['id']} --reason WHY")
                output.hint(f"Only a person can tell: {resolve} --live REMOTE_ID | --send-again | --give-up")

    def tell_kept(self, posts: Sequence[dict[str, Any]]) -> None:
        from postino.cli.following import told_of_kept

        for told in posts:
            if (kept := told_of_kept(told, self.where)) is not None:
                output.hint(output.printable(kept))


def in_options(said: str) -> str:
    """What the API calls a field, as it is typed here."""
    for field, option in (("`at`", "--at"), ("`allow_blackout`", "--allow-blackout")):
        said = said.replace(field, option)
    return said.replace("allow_duplicate", "--allow-duplicate")


def line(told: dict[str, Any]) -> str:
    words = (told["account"].ljust(ACCOUNT_WIDTH), told["status"].ljust(STATUS_WIDTH), told["id"], outlook(told))
    return output.printable("  ".join(words)).rstrip()


def outlook(told: dict[str, Any]) -> str:
    """What came of it, or what is to come."""
    at = "" if told["run_at"] is None else f"{told['run_at'][:19]}Z"
    match told["status"]:
        case "published":
            return told["url"] or told["remote_id"] or ""
        case "scheduled" if told["attempts"] == 0 and not told["reasons"]:
            return f"at {at}"
        case "uncertain" if not told["needs_person"]:
            return f"{told['last_error']} The network is asked at {at}."
        case "scheduled" if told["last_error"]:
            return f"{told['last_error']} It is tried again at {at}."
        case _:
            return told["last_error"] or " ".join(told["reasons"].values())


async def named(app: "Postino", wish: "Wish") -> "Wish":
    """With the ids of the accounts that were named."""
    from dataclasses import replace

    from postino.cli.naming import account_named

    accounts = await app.store.accounts()
    return replace(wish, accounts=tuple(account_named(name, accounts).id for name in wish.accounts))


async def somebody_works(app: "Postino") -> bool:
    from postino.cli.queues import state_of

    return any(state_of(worker) != "gone" for worker in await app.store.workers())


async def previewed(app: "Postino", wish: "Wish") -> "list[Preview]":
    return await app.posts.preview(await named(app, wish))


def show_previews(previews: "Sequence[Preview]", notes: Sequence[str], *, as_json: bool) -> None:
    from postino.publishing import shapes

    if as_json:
        output.as_json({"preview": True, "posts": [shapes.of_preview(it) for it in previews], "notes": [*notes]})
        return
    for preview in previews:
        output.write(f"{preview.account.id}")
        for part in preview.rendered.parts:
            output.write(output.printable("  │ " + part.replace("\n", "\n  │ ")))
        for media in preview.rendered.media:
            output.write(output.printable(f"  [{media.kind or 'media'}] {media.url}"))
        for problem in preview.problems:
            output.write(output.printable(f"  {problem.severity}: {problem.message}"))
    for note in notes:
        output.hint(note)
