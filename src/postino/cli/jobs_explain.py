"""`jobs explain`, `posts explain` and `jobs test`: why something has not run, and whether it could."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.contents import At, Timezone
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import JobId, Json, placed, uuid_from
from postino.cli.refusals import in_options
from postino.cli.session import Where, house

COLUMNS = ("IN_THE_WAY", "SINCE_AT", "UNTIL_AT", "WHY", "CAUSE")
COMMAND = re.compile("`postino ([^`]+)`")
Blocker = Mapping[str, Any]
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]
Zone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Tell times of this zone: Europe/Rome.", show_default=False),
]


@placed
def explain_job(job_id: JobId, timezone: Zone = None, as_json: Json = False, *, where: Where) -> None:
    """Why a job has not run: what is in its way, until when, and what would let it go."""
    show(job_id, "job", timezone, where, as_json=as_json)


@placed
def explain_post(post_id: PostId, timezone: Zone = None, as_json: Json = False, *, where: Where) -> None:
    """Why a post has not gone out: what is in its way, until when, and what would let it go."""
    show(post_id, "post", timezone, where, as_json=as_json)


def show(text: str, what: str, timezone: str | None, where: Where, *, as_json: bool) -> None:
    wanted = uuid_from(text, what=what)
    with house(where) as postino:
        room = postino.posts if what == "post" else postino.jobs
        told = room.explain(wanted, timezone=timezone)
    if as_json:
        output.as_json(told)
        return
    say(here(told["sentence"], where), waits=bool(told["blockers"]))
    show_blockers(told["blockers"], where, timezone)
    if told["blockers"] and told["eta"] is not None:
        output.write("")
        output.fields({"eta": output.at(told["eta"], timezone)})


def say(sentence: str, *, waits: bool) -> None:
    if not output.is_terminal():
        output.write(output.printable(sentence))
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(output.printable(sentence), style="yellow" if waits else "green"))


def show_blockers(blockers: Sequence[Blocker], where: Where, timezone: str | None) -> None:
    if output.is_terminal():
        for number, blocker in enumerate(blockers, 1):
            more = details(blocker, where, timezone)
            output.write("\n" + "\n    ".join([f"{number:>2}  {blocker['sentence']}", *more]))
        return
    if not blockers:
        return
    rows = [
        (it["kind"], *(output.at(it[name], timezone) for name in ("since_at", "until_at")), it["sentence"], it["cause"])
        for it in blockers
    ]
    output.table(COLUMNS, rows)
    remedies = [here(it["unblock"], where) for it in blockers if it["unblock"] is not None]
    if remedies:
        output.write("\nWhat you can do")
        for remedy in remedies:
            output.write(f"  {output.printable(remedy)}")


def details(blocker: Blocker, where: Where, timezone: str | None) -> Iterator[str]:
    now = datetime.now(UTC)
    for word in ("since", "until"):
        at = output.at(blocker[f"{word}_at"], timezone)
        if at is not None:
            yield f"{word} {output.instant(at)} ({output.distance(at - now)})"
    if blocker["cause"] is not None:
        yield output.printable(blocker["cause"])
    if blocker["unblock"] is not None:
        yield output.printable(here(blocker["unblock"], where))


def here(text: str, where: Where) -> str:
    """With every command as one would type it to get to this very queue."""
    return COMMAND.sub(lambda found: f"`{where.command(found[1])}`", text)


@placed
def try_out(
    channel: Annotated[str, typer.Option("--channel", help="A network, or another channel.", show_default=False)],
    account: Annotated[str | None, typer.Option("--account", help="Of this account.", show_default=False)] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Of this brand.", show_default=False)] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="high, default or low.", show_default=False)] = None,
    at: At = None,
    timezone: Timezone = None,
    as_json: Json = False,
    *,
    where: Where,
) -> None:
    """Whether a job could run at a time: what would be in its way then. Nothing is queued."""
    with in_options(run_at="at"), house(where) as postino:
        whose: dict[str, Any] = {"brand": brand, "queue": queue}
        if account is not None:
            whose["account"] = account_meant(postino, account)
        doubt = None if brand is None else doubt_about_brand(postino, brand)
        told = postino.jobs.test(channel, **whose, run_at=at, timezone=timezone)
    notes = [*told["notes"], *([] if doubt is None else [doubt])]
    if as_json:
        output.as_json({**told, "notes": notes})
        return
    evaluation = told["evaluation"]
    say(verdict(told["run_at"], evaluation, timezone), waits=not evaluation["runnable"])
    show_blockers(evaluation["blockers"], where, timezone)
    for note in notes:
        output.hint(note)


def verdict(run_at: str, evaluation: Mapping[str, Any], timezone: str | None) -> str:
    can = "Yes: it could run" if evaluation["runnable"] else "No: it could not run"
    met = " Another is planned within a minute of it." if evaluation["has_collision"] else ""
    return f"{can} at {output.shown(output.at(run_at, timezone))}.{met}"
