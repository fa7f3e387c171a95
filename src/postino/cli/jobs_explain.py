"""`jobs explain`, `posts explain` and `jobs test`: why something has not run, and whether it could."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from postino.cli import output
from postino.cli.contents import At, Timezone, instant_from
from postino.cli.naming import account_meant, doubt_about_brand
from postino.cli.options import DatabaseUrl, DataDir, JobId, Json, uuid_from
from postino.cli.session import Where, perform
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.rules.explain import Blocker, Evaluation, Explanation
    from postino.wiring import Postino

COLUMNS = ("IN_THE_WAY", "SINCE_AT", "UNTIL_AT", "WHY", "CAUSE")
COMMAND = re.compile("`postino ([^`]+)`")
PostId = Annotated[str, typer.Argument(metavar="ID", help="The post's id.", show_default=False)]
Zone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Tell times of this zone: Europe/Rome.", show_default=False),
]


def explain_job(
    job_id: JobId,
    timezone: Zone = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Why a job has not run: what is in its way, until when, and what would let it go."""
    show(job_id, "job", timezone, Where(data_dir, database_url), as_json=as_json)


def explain_post(
    post_id: PostId,
    timezone: Zone = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Why a post has not gone out: what is in its way, until when, and what would let it go."""
    show(post_id, "post", timezone, Where(data_dir, database_url), as_json=as_json)


def show(text: str, what: str, timezone: str | None, where: Where, *, as_json: bool) -> None:
    from postino.publishing.explaining import of_explanation

    wanted, zone = uuid_from(text, what=what), zone_from(timezone)

    async def read(app: "Postino") -> "Explanation":
        from postino.engine.explaining import explain

        if what == "post":
            await app.posts.get(wanted)
        return await explain(app.store, wanted, zone=zone)

    told = perform(where, read)
    if as_json:
        output.as_json(of_explanation(told))
        return
    say(here(told.sentence, where), waits=bool(told.blockers))
    show_blockers(told.blockers, where)
    if told.blockers and told.eta is not None:
        output.write("")
        output.fields({"eta": told.eta})


def say(sentence: str, *, waits: bool) -> None:
    if not output.is_terminal():
        output.write(output.printable(sentence))
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(output.printable(sentence), style="yellow" if waits else "green"))


def show_blockers(blockers: Sequence["Blocker"], where: Where) -> None:
    if output.is_terminal():
        for number, blocker in enumerate(blockers, 1):
            output.write("\n" + "\n    ".join([f"{number:>2}  {blocker.sentence}", *details(blocker, where)]))
        return
    if not blockers:
        return
    rows = [(it.kind.value, it.since_at, it.until_at, it.sentence, it.cause) for it in blockers]
    output.table(COLUMNS, rows)
    remedies = [here(it.unblock, where) for it in blockers if it.unblock is not None]
    if remedies:
        output.write("\nWhat you can do")
        for remedy in remedies:
            output.write(f"  {output.printable(remedy)}")


def details(blocker: "Blocker", where: Where) -> Iterator[str]:
    now = datetime.now(UTC)
    for word, at in (("since", blocker.since_at), ("until", blocker.until_at)):
        if at is not None:
            yield f"{word} {output.instant(at)} ({output.distance(at - now)})"
    if blocker.cause is not None:
        yield output.printable(blocker.cause)
    if blocker.unblock is not None:
        yield output.printable(here(blocker.unblock, where))


def here(text: str, where: Where) -> str:
    """With every command as one would type it to get to this very queue."""
    return COMMAND.sub(lambda found: f"`{where.command(found[1])}`", text)


def zone_from(name: str | None) -> ZoneInfo | None:
    from postino.zones import zone

    return None if name is None else zone(name)


def try_out(
    channel: Annotated[str, typer.Option("--channel", help="A network, or another channel.", show_default=False)],
    account: Annotated[str | None, typer.Option("--account", help="Of this account.", show_default=False)] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Of this brand.", show_default=False)] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="high, default or low.", show_default=False)] = None,
    at: At = None,
    timezone: Timezone = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Whether a job could run at a time: what would be in its way then. Nothing is queued."""
    from postino.publishing.explaining import of_evaluation

    where, notes = Where(data_dir, database_url), list[str]()
    asked_at = instant_from(at, timezone, "at", notes)

    async def read(app: "Postino") -> tuple[datetime, "Evaluation"]:
        from postino.engine.explaining import evaluate

        await app.gatekeeper.check_channel(channel, app.config.channels)
        await check_at(app, asked_at)
        whose: dict[str, Any] = {"channel": channel, "account": account, "brand": brand, "queue": queue}
        if account is not None:
            whose["account"] = await account_meant(app, account)
        if brand is not None and (doubt := await doubt_about_brand(app, brand)):
            notes.append(doubt)
        return await evaluate(app.store, **whose, run_at=asked_at)

    run_at, evaluation = perform(where, read)
    if as_json:
        output.as_json(of_evaluation(channel, run_at, evaluation) | {"notes": notes})
        return
    say(verdict(run_at, evaluation), waits=not evaluation.runnable)
    show_blockers(evaluation.blockers, where)
    for note in notes:
        output.hint(note)


async def check_at(app: "Postino", at: datetime | None) -> None:
    from postino.publishing.posts import LONG_PAST

    if at is not None and at < await app.store.clock() - LONG_PAST:
        raise WrongUse(f"at: {at.isoformat()} has passed. Leave it out to ask about now.", field="at")


def verdict(run_at: datetime, evaluation: "Evaluation") -> str:
    can = "Yes: it could run" if evaluation.runnable else "No: it could not run"
    met = " Another is planned within a minute of it." if evaluation.has_collision else ""
    return f"{can} at {output.instant(run_at)}.{met}"
