"""`postino post`: say something, now or later, by one account or many."""

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
from postino.cli.errors import in_options
from postino.cli.options import Json, with_target
from postino.cli.resolve_name import match_account
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

ACCOUNT_WIDTH, STATUS_WIDTH = 24, 10
JsonDict = Mapping[str, Any]


@with_target
def post(
    text: Annotated[str, typer.Argument(help="What to say; - reads it from standard input.", show_default=False)],
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="ACCOUNT", help="By id, or by network or handle where one fits; may be repeated."),
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
    allow_blackout: Annotated[bool, typer.Option("--allow-blackout", help="Even in a blackout window.")] = False,
    key: Annotated[
        str | None, typer.Option("--key", help="The same key again is the same post.", show_default=False)
    ] = None,
    wait: Annotated[
        bool | None,
        typer.Option("--wait/--no-wait", help="Until it is out. As usual: in a terminal.", show_default=False),
    ] = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Publish, now or at a time. What a network would refuse is refused here, and nothing is queued."""
    when = {"at": at, "timezone": timezone, "publish_until": publish_until}
    said = build_content(read_text(text), title, media, alt, thread, hashtag, **when)
    said |= {"allow_duplicate": allow_duplicate, "allow_blackout": allow_blackout}
    with in_options(), open_api(target) as postino:
        accounts = postino.accounts.page()["data"]
        said["accounts"] = [match_account(name, accounts) for name in to]
        if preview:
            told = postino.posts.preview(**said)
            show_previews(told, as_json=as_json)
            raise typer.Exit(WrongUse.exit_code if is_refused(told) else 0)
        waits = at is None and (output.is_terminal() and not as_json if wait is None else wait)
        desk = PostSubmission(target, postino, now=at is None, waits=waits, as_json=as_json, timezone=timezone)
        code = desk.publish(said, key)
    raise typer.Exit(code)


class PostSubmission:
    """Puts a wish in, and tells what becomes of it."""

    def __init__(
        self, target: Target, postino: "QueueApi", *, now: bool, waits: bool, as_json: bool, timezone: str | None
    ) -> None:
        self.target, self.postino, self.timezone = target, postino, timezone
        self.now, self.waits, self.as_json = now, waits, as_json

    def publish(self, said: dict[str, Any], key: str | None) -> int:
        """The exit code. A key is answered as it was at first: how things stand now is looked up."""
        made: dict[str, Any] = {**self.postino.posts.create(**said, key=key)}
        posts: list[JsonDict] = made["posts"] if key is None else follow.now(self.postino, made["posts"])
        works = self.has_worker()
        if self.waits and works:
            posts = self.followed(posts)
        elif not self.as_json:
            for told in posts:
                self.changed(told)
        if self.as_json:
            output.print_json({**made, **(posts[0] if len(posts) == 1 else {}), "posts": posts})
        self.advise(posts, made["notes"], works=works)
        if self.waits:
            return 0 if all(told["status"] == "published" or follow.find_deferral(told) for told in posts) else 1
        return 1 if any(told["status"] == "failed" or told["needs_person"] for told in posts) else 0

    def has_worker(self) -> bool:
        """Who may not know that is told nothing about it."""
        from postino.client import NotAllowed

        try:
            return any(worker["here"] for worker in self.postino.workers()["data"])
        except NotAllowed:
            return True

    def followed(self, posts: Sequence[JsonDict]) -> list[JsonDict]:
        try:
            return follow.follow(self.postino, posts, self.changed)
        except KeyboardInterrupt:
            more = self.target.format_command(f"posts show {posts[0]['id']}")
            output.print_hint(f"It goes on without you: {more}")
            raise

    def changed(self, told: JsonDict) -> None:
        if not self.as_json:
            output.print_line(line(told, self.timezone))

    def advise(self, posts: Sequence[JsonDict], notes: Sequence[str], *, works: bool) -> None:
        if not works:
            output.print_hint(f"No worker is running: it goes out once one is. {self.target.suggest_worker()}")
        if self.as_json:
            return
        for note in notes:
            output.print_hint(note)
        for told in posts:
            if told["needs_person"]:
                resolve = self.target.format_command(f"posts resolve {told['id']} --reason WHY")
                output.print_hint(f"Only a person can tell: {resolve} --live REMOTE_ID | --send-again | --give-up")
            if self.now and (kept := follow.describe_deferral(told, self.target)) is not None:
                output.print_hint(output.escape_control_characters(kept))


def line(told: JsonDict, timezone: str | None) -> str:
    place = (told["account"].ljust(ACCOUNT_WIDTH), told["status"].ljust(STATUS_WIDTH), told["id"])
    words = (*place, outlook(told, timezone))
    return output.escape_control_characters("  ".join(words)).rstrip()


def outlook(told: JsonDict, timezone: str | None) -> str:
    """What came of it, or what is to come."""
    at = output.format_cell(output.parse_instant(told["run_at"], timezone))
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


def is_refused(told: JsonDict) -> bool:
    """Whether it would be, if it were not only looked at."""
    return any(problem["severity"] == "error" for preview in told["posts"] for problem in preview["problems"])


def show_previews(told: JsonDict, *, as_json: bool) -> None:
    if as_json:
        output.print_json(told)
        return
    for preview in told["posts"]:
        output.print_line(preview["account"])
        for part in preview["parts"]:
            output.print_line(output.escape_control_characters("  │ " + part.replace("\n", "\n  │ ")))
        for media in preview["media"]:
            output.print_line(output.escape_control_characters(f"  [{media['kind'] or 'media'}] {media['url']}"))
        for problem in preview["problems"]:
            output.print_line(output.escape_control_characters(f"  {problem['severity']}: {problem['message']}"))
    for note in told["notes"]:
        output.print_hint(note)
