"""`jobs explain`, `posts explain` and `jobs test`: why a job has not run, and whether it could."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.content_options import At, Timezone
from postino.cli.errors import use_option_names
from postino.cli.options import JobId, Json, parse_uuid, with_target
from postino.cli.resolve_name import describe_unknown_brand, resolve_account

COLUMNS = ("BLOCKER", "SINCE_AT", "UNTIL_AT", "WHY", "CAUSE")
COMMAND = re.compile("`postino ([^`]+)`")
Blocker = Mapping[str, Any]
PostId = Annotated[str, typer.Argument(metavar="ID", help="Id of the post.", show_default=False)]
Zone = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="Show times in this zone, such as Europe/Rome.", show_default=False
    ),
]


@with_target
def explain_job(job_id: JobId, timezone: Zone = None, as_json: Json = False, *, target: Target) -> None:
    """Explain why a job has not run: what blocks it, until when, and how to unblock it."""
    show(job_id, "job", timezone, target, as_json=as_json)


@with_target
def explain_post(post_id: PostId, timezone: Zone = None, as_json: Json = False, *, target: Target) -> None:
    """Explain why a post is not published: what blocks it, until when, and how to unblock it."""
    show(post_id, "post", timezone, target, as_json=as_json)


def show(text: str, what: str, timezone: str | None, target: Target, *, as_json: bool) -> None:
    checked = parse_uuid(text, what=what)
    with open_api(target) as postino:
        resource = postino.posts if what == "post" else postino.jobs
        explanation = resource.explain(checked, timezone=timezone)
    if as_json:
        output.print_json(explanation)
        return
    print_sentence(localize_commands(explanation["sentence"], target), waits=bool(explanation["blockers"]))
    print_blockers(explanation["blockers"], target, timezone)
    if explanation["blockers"] and explanation["eta"] is not None:
        output.print_line("")
        output.print_fields({"eta": output.parse_instant(explanation["eta"], timezone)})


def print_sentence(sentence: str, *, waits: bool) -> None:
    if not output.is_terminal():
        output.print_line(sentence)
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(output.escape_control_characters(sentence), style="yellow" if waits else "green"))


def print_blockers(blockers: Sequence[Blocker], target: Target, timezone: str | None) -> None:
    if output.is_terminal():
        for number, blocker in enumerate(blockers, 1):
            more = list_details(blocker, target, timezone)
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
    remedies = [localize_commands(it["unblock"], target) for it in blockers if it["unblock"] is not None]
    if remedies:
        output.print_line("\nWhat you can do")
        for remedy in remedies:
            output.print_line(f"  {remedy}")


def list_details(blocker: Blocker, target: Target, timezone: str | None) -> Iterator[str]:
    now = datetime.now(UTC)
    for word in ("since", "until"):
        at = output.parse_instant(blocker[f"{word}_at"], timezone)
        if at is not None:
            yield f"{word} {output.format_instant(at)} ({output.format_distance(at - now)})"
    if blocker["cause"] is not None:
        yield blocker["cause"]
    if blocker["unblock"] is not None:
        yield localize_commands(blocker["unblock"], target)


def localize_commands(text: str, target: Target) -> str:
    """Replace each `postino …` command with the one for this queue."""
    return COMMAND.sub(lambda match: f"`{target.format_command(match[1])}`", text)


@with_target
def evaluate_job(
    channel: Annotated[str, typer.Option("--channel", help="Network or other channel.", show_default=False)],
    account: Annotated[str | None, typer.Option("--account", help="Account of the job.", show_default=False)] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Brand of the job.", show_default=False)] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", help="Queue: high, default or low.", show_default=False)
    ] = None,
    at: At = None,
    timezone: Timezone = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Test whether a job could run at a time, without queueing it."""
    with use_option_names(run_at="at"), open_api(target) as postino:
        lane: dict[str, Any] = {"brand": brand, "queue": queue}
        if account is not None:
            lane["account"] = resolve_account(postino, account)
        hint = None if brand is None else describe_unknown_brand(postino, brand)
        result = postino.jobs.test(channel, **lane, run_at=at, timezone=timezone)
    notes = [*result["notes"], *([] if hint is None else [hint])]
    if as_json:
        output.print_json({**result, "notes": notes})
        return
    evaluation = result["evaluation"]
    print_sentence(describe_verdict(result["run_at"], evaluation, timezone), waits=not evaluation["runnable"])
    print_blockers(evaluation["blockers"], target, timezone)
    for note in notes:
        output.print_hint(note)


def describe_verdict(run_at: str, evaluation: Mapping[str, Any], timezone: str | None) -> str:
    answer = "Yes: it could run" if evaluation["runnable"] else "No: it could not run"
    collision = " Another job is scheduled within a minute of it." if evaluation["has_collision"] else ""
    return f"{answer} at {output.format_cell(output.parse_instant(run_at, timezone))}.{collision}"
