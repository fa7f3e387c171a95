"""`postino post`: publish a post now or schedule it, on one or more accounts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import follow, output
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
from postino.cli.options import Json, with_target
from postino.cli.resolve_name import match_account
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

ACCOUNT_WIDTH, STATUS_WIDTH = 24, 10
JsonDict = Mapping[str, Any]


@with_target
def post(
    text: Annotated[str, typer.Argument(help="Text of the post; - reads standard input.", show_default=False)],
    to: Annotated[
        list[str],
        typer.Option(
            "--to", metavar="ACCOUNT", help="Account id, or network or handle if unambiguous; may be repeated."
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
    preview: Annotated[bool, typer.Option("--preview", help="Show the result; queue nothing.")] = False,
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Publish even if it repeats a recent post.")
    ] = False,
    allow_blackout: Annotated[bool, typer.Option("--allow-blackout", help="Publish even during a blackout.")] = False,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Idempotency key: repeating it creates no second post.", show_default=False),
    ] = None,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait", help="Wait until it is published. Default: only in a terminal.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Publish a post now, or schedule it with --at."""
    when = {"at": at, "timezone": timezone, "publish_until": publish_until}
    content = build_content(read_text(text), title, media, alt, thread, hashtag, **when)
    content |= {"allow_duplicate": allow_duplicate, "allow_blackout": allow_blackout}
    with use_option_names(), open_api(target) as postino:
        accounts = postino.accounts.list()["data"]
        content["accounts"] = [match_account(name, accounts) for name in to]
        if preview:
            result = postino.posts.preview(**content)
            print_previews(result, as_json=as_json)
            raise typer.Exit(WrongUse.exit_code if has_errors(result) else 0)
        waits = at is None and (output.is_terminal() and not as_json if wait is None else wait)
        submission = PostSubmission(target, postino, now=at is None, waits=waits, as_json=as_json, timezone=timezone)
        code = submission.publish(content, key)
    raise typer.Exit(code)


class PostSubmission:
    """Creates the posts, follows them, and reports the result."""

    def __init__(
        self, target: Target, postino: "QueueApi", *, now: bool, waits: bool, as_json: bool, timezone: str | None
    ) -> None:
        self.target, self.postino, self.timezone = target, postino, timezone
        self.now, self.waits, self.as_json = now, waits, as_json

    def publish(self, content: dict[str, Any], key: str | None) -> int:
        """Return the exit code. A repeated key returns the first response, so the current state is fetched."""
        created: dict[str, Any] = {**self.postino.posts.create(**content, key=key)}
        posts: list[JsonDict] = created["posts"] if key is None else follow.refresh(self.postino, created["posts"])
        has_worker = self.has_worker()
        if self.waits and has_worker:
            posts = self.follow(posts)
        elif not self.as_json:
            for post in posts:
                self.print_post(post)
        if self.as_json:
            output.print_json({**created, **(posts[0] if len(posts) == 1 else {}), "posts": posts})
        self.advise(posts, created["notes"], has_worker=has_worker)
        if self.waits:
            return 0 if all(post["status"] == "published" or follow.find_deferral(post) for post in posts) else 1
        return 1 if any(post["status"] == "failed" or post["needs_person"] for post in posts) else 0

    def has_worker(self) -> bool:
        """Return True also if the caller may not list workers."""
        from postino.client import NotAllowed

        try:
            return any(worker["alive"] for worker in self.postino.workers()["data"])
        except NotAllowed:
            return True

    def follow(self, posts: Sequence[JsonDict]) -> list[JsonDict]:
        try:
            return follow.follow(self.postino, posts, self.print_post)
        except KeyboardInterrupt:
            more = self.target.format_command(f"posts show {posts[0]['id']}")
            output.print_hint(f"Publishing continues. To see the result: {more}")
            raise

    def print_post(self, post: JsonDict) -> None:
        if not self.as_json:
            output.print_line(format_post(post, self.timezone))

    def advise(self, posts: Sequence[JsonDict], notes: Sequence[str], *, has_worker: bool) -> None:
        if not has_worker:
            output.print_hint(
                f"No worker is running: the post goes out when one starts. {self.target.suggest_worker()}"
            )
        if self.as_json:
            return
        for note in notes:
            output.print_hint(note)
        for post in posts:
            if post["needs_person"]:
                resolve = self.target.format_command(f"posts resolve {post['id']} --reason WHY")
                output.print_hint(
                    f"Decide whether it was published: {resolve} --live REMOTE_ID | --send-again | --give-up"
                )
            if self.now and (deferral := follow.describe_deferral(post, self.target)) is not None:
                output.print_hint(deferral)


def format_post(post: JsonDict, timezone: str | None) -> str:
    columns = (post["account"].ljust(ACCOUNT_WIDTH), post["status"].ljust(STATUS_WIDTH), post["id"])
    return "  ".join((*columns, " ".join(describe_state(post, timezone).split()))).rstrip()


def describe_state(post: JsonDict, timezone: str | None) -> str:
    """Return the result of a post, or what happens next."""
    at = output.format_cell(output.parse_instant(post["run_at"], timezone))
    match post["status"]:
        case "published":
            return post["url"] or post["remote_id"] or ""
        case "scheduled" if post["attempts"] == 0 and not post["reasons"]:
            return f"at {at}"
        case "uncertain" if not post["needs_person"]:
            return f"{post['last_error']} Postino looks it up on the network at {at}."
        case "scheduled" if post["last_error"]:
            return f"{post['last_error']} The next attempt is at {at}."
        case _:
            return post["last_error"] or " ".join(post["reasons"].values())


def has_errors(result: JsonDict) -> bool:
    """Return True if the network would reject the post."""
    return any(problem["severity"] == "error" for preview in result["posts"] for problem in preview["problems"])


def print_previews(post: JsonDict, *, as_json: bool) -> None:
    if as_json:
        output.print_json(post)
        return
    for preview in post["posts"]:
        output.print_line(preview["account"])
        for part in preview["parts"]:
            output.print_line("  │ " + part.replace("\n", "\n  │ "))
        for media in preview["media"]:
            output.print_line(f"  [{media['kind'] or 'media'}] {media['url']}")
        for problem in preview["problems"]:
            output.print_line(f"  {problem['severity']}: {problem['message']}")
    for note in post["notes"]:
        output.print_hint(note)
