"""`jobs explain`, `posts explain` and `jobs test`: why something has not run, and whether it could."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.content_options import At, Timezone
from postino.cli.errors import in_options
from postino.cli.options import JobId, Json, parse_uuid, with_target
from postino.cli.resolve_name import describe_unknown_brand, resolve_account

COLUMNS = ("IN_THE_WAY", "SINCE_AT", "UNTIL_AT", "WHY", "CAUSE")
COMMAND = re.compile("`postino ([^`]+)`")
Blocker = Mapping[str, Any]
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]
Zone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Tell times of this zone: Europe/Rome.", show_default=False),
]


@with_target
def explain_job(job_id: JobId, timezone: Zone = None, as_json: Json = False, *, target: Target) -> None:
    """Why a job has not run: what is in its way, until when, and what would let it go."""
    show(job_id, "job", timezone, target, as_json=as_json)


@with_target
def explain_post(post_id: PostId, timezone: Zone = None, as_json: Json = False, *, target: Target) -> None:
    """Why a post has not gone out: what is in its way, until when, and what would let it go."""
    show(post_id, "post", timezone, target, as_json=as_json)


def show(text: str, what: str, timezone: str | None, target: Target, *, as_json: bool) -> None:
    wanted = parse_uuid(text, what=what)
    with open_api(target) as postino:
        room = postino.posts if what == "post" else postino.jobs
        told = room.explain(wanted, timezone=timezone)
    if as_json:
        output.print_json(told)
        return
    say(here(told["sentence"], target), waits=bool(told["blockers"]))
    show_blockers(told["blockers"], target, timezone)
    if told["blockers"] and told["eta"] is not None:
        output.print_line("")
        output.print_fields({"eta": output.parse_instant(told["eta"], timezone)})


def say(sentence: str, *, waits: bool) -> None:
    if not output.is_terminal():
        output.print_line(output.escape_control_characters(sentence))
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(output.escape_control_characters(sentence), style="yellow" if waits else "green"))


def show_blockers(blockers: Sequence[Blocker], target: Target, timezone: str | None) -> None:
    if output.is_terminal():
        for number, blocker in enumerate(blockers, 1):
            more = details(blocker, target, timezone)
            output.print_line("\n" + "\n    ".join([f"{number:>2}  {blocker['sentence']}", *more]))
        return
    if not blockers:
        return
    rows = [
        (
            it["kind"],
            *(output.parse_instant(it[name], timezone) for name in ("since_at", "until_at")),
            it["sentence"],
            it["cause"],
        )
        for it in blockers
    ]
    output.print_table(COLUMNS, rows)
    remedies = [here(it["unblock"], target) for it in blockers if it["unblock"] is not None]
    if remedies:
        output.print_line("\nWhat you can do")
        for remedy in remedies:
            output.print_line(f"  {output.escape_control_characters(remedy)}")


def details(blocker: Blocker, target: Target, timezone: str | None) -> Iterator[str]:
    now = datetime.now(UTC)
    for word in ("since", "until"):
        at = output.parse_instant(blocker[f"{word}_at"], timezone)
        if at is not None:
            yield f"{word} {output.format_instant(at)} ({output.format_distance(at - now)})"
    if blocker["cause"] is not None:
        yield output.escape_control_characters(blocker["cause"])
    if blocker["unblock"] is not None:
        yield output.escape_control_characters(here(blocker["unblock"], target))


def here(text: str, target: Target) -> str:
    """With every command as one would type it to get to this very queue."""
    return COMMAND.sub(lambda found: f"`{target.format_command(found[1])}`", text)


@with_target
def evaluate_job(
    channel: Annotated[str, typer.Option("--channel", help="A network, or another channel.", show_default=False)],
    account: Annotated[str | None, typer.Option("--account", help="Of this account.", show_default=False)] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Of this brand.", show_default=False)] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="high, default or low.", show_default=False)] = None,
    at: At = None,
    timezone: Timezone = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Whether a job could run at a time: what would be in its way then. Nothing is queued."""
    with in_options(run_at="at"), open_api(target) as postino:
        whose: dict[str, Any] = {"brand": brand, "queue": queue}
        if account is not None:
            whose["account"] = resolve_account(postino, account)
        doubt = None if brand is None else describe_unknown_brand(postino, brand)
        told = postino.jobs.test(channel, **whose, run_at=at, timezone=timezone)
    notes = [*told["notes"], *([] if doubt is None else [doubt])]
    if as_json:
        output.print_json({**told, "notes": notes})
        return
    evaluation = told["evaluation"]
    say(verdict(told["run_at"], evaluation, timezone), waits=not evaluation["runnable"])
    show_blockers(evaluation["blockers"], target, timezone)
    for note in notes:
        output.print_hint(note)


def verdict(run_at: str, evaluation: Mapping[str, Any], timezone: str | None) -> str:
    can = "Yes: it could run" if evaluation["runnable"] else "No: it could not run"
    met = " Another is planned within a minute of it." if evaluation["has_collision"] else ""
    return f"{can} at {output.format_cell(output.parse_instant(run_at, timezone))}.{met}"
