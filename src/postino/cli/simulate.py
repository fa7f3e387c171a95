"""`postino simulate`: what would run when, as things are now. Nothing is queued, and nobody is called."""

import sys
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from postino.cli import drawing, output
from postino.cli.contents import instant_from
from postino.cli.options import Channel, DatabaseUrl, DataDir, Json
from postino.cli.session import Where, perform
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.engine.rehearsing import Asked
    from postino.engine.simulated import Simulation, Wait
    from postino.wiring import Postino

COLUMNS = ("STARTED_AT", "CHANNEL", "ACCOUNT", "BRAND", "QUEUE", "SCHEDULED_AT", "LATE", "WAITED_FOR", "ID")
LEFT = ("SCHEDULED_AT", "CHANNEL", "ACCOUNT", "BRAND", "QUEUE", "WAITS_FOR", "ID")
TOTALS = ("CHANNEL", "RAN", "LEFT", "LATEST")
WORTH_TELLING = 1000  # jobs
EVERY = 0.2  # seconds

UntilTime = Annotated[str, typer.Option("--until", metavar="TIME", help="Play it up to this time.", show_default=False)]
FromTime = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Show it from this time on. As usual: now.", show_default=False),
]
Brand = Annotated[str | None, typer.Option("--brand", help="Show only this brand.", show_default=False)]
Workers = Annotated[
    int | None, typer.Option("--workers", help="With so many. As usual: as many as there are.", show_default=False)
]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds-per-job", help="As usual: what jobs of its channel took lately.", show_default=False),
]
Timezone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Of times without an offset; and to show.", show_default=False),
]
PictureFile = Annotated[
    str | None,
    typer.Option("--picture", metavar="FILE", help="Draw it, too: out.svg or out.png.", show_default=False),
]


def simulate(
    until: UntilTime,
    from_: FromTime = None,
    channel: Channel = None,
    brand: Brand = None,
    workers: Workers = None,
    seconds_per_job: Seconds = None,
    timezone: Timezone = None,
    picture: PictureFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """What would run when, by the real rules on a clock of its own. Nothing is queued, and nobody is called."""
    from postino.engine.rehearsing import Asked
    from postino.zones import zone

    notes: list[str] = []
    place = zone(timezone or "UTC")
    until_at = instant_from(until, timezone, "until", notes)
    assert until_at is not None, "it was said"
    asked = Asked(
        until_at=until_at,
        from_at=instant_from(from_, timezone, "from", notes),
        channel=channel,
        brand=brand,
        workers=workers,
        seconds_per_job=seconds_per_job,
    )
    path = drawing.picture_from(picture)
    played = perform(Where(data_dir, database_url), lambda app: play(app, asked))
    if path is not None:
        from postino.engine.timeline import picture as drawn

        drawing.keep(drawn(played, place), path)
    show(played, place, as_json=as_json)
    for note in (*notes, *played.notes, *([f"The picture is in {path}."] if path else ())):
        output.hint(note)


async def play(app: "Postino", asked: "Asked") -> "Simulation":
    from dataclasses import replace

    from postino.engine.simulation import simulate as simulated
    from postino.wiring import rehearsal, terms_of

    config = app.config
    slots, give_up_after = config.worker.concurrency, config.publishing.give_up_after
    asked = replace(asked, slots=slots, give_up_after=give_up_after, terms=terms_of(config))
    teller = Teller()
    try:
        return await simulated(app.store, rehearsal, asked, teller.tell)
    except WrongUse as error:
        raise WrongUse(str(error).replace("seconds_per_job:", "seconds-per-job:"), error.field) from error
    finally:
        teller.clear()


class Teller:
    """How far it is, for people who wait at a terminal; nothing for what takes a moment."""

    def __init__(self) -> None:
        self.again_at = time.monotonic() + 2 * EVERY
        self.told = False

    def tell(self, done: int, all_: int) -> None:
        if all_ >= WORTH_TELLING and sys.stderr.isatty() and time.monotonic() >= self.again_at:
            sys.stderr.write(f"\r{done:,} of {all_:,} jobs have run …")
            sys.stderr.flush()
            self.again_at, self.told = time.monotonic() + EVERY, True

    def clear(self) -> None:
        if self.told:
            sys.stderr.write("\r\x1b[K")


def show(played: "Simulation", place: ZoneInfo, *, as_json: bool) -> None:
    from postino.engine.simulated import told
    from postino.engine.timeline import duration

    if as_json:
        output.as_json(told(played))
        return

    def at(instant: datetime) -> str:
        return f"{instant.astimezone(place):%Y-%m-%d %H:%M:%S %Z}"

    ran = [
        (at(it.started_at), it.channel, it.account, it.brand, it.queue.label, at(it.scheduled_at), duration(it.late_by),
         sentences(it.waited_for), str(it.job_id))
        for it in played.ran
    ]  # fmt: skip
    output.table(COLUMNS, ran, empty="Nothing would run in this time.")
    if played.left:
        left = [
            (at(it.scheduled_at), it.channel, it.account, it.brand, it.queue.label, sentences(it.waits_for),
             str(it.job_id))
            for it in played.left
        ]  # fmt: skip
        output.table(LEFT, left, title="Due, and would not have run")
    if played.ran or played.left:
        totals = [(it.channel, it.ran, it.left, duration(it.latest)) for it in played.totals()]
        output.table(TOTALS, totals, title="By channel")


def sentences(waits: Sequence["Wait"]) -> str | None:
    return " ".join(wait.sentence for wait in waits) or None
