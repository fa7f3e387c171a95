"""`postino simulate`: what would run when, as things are now. Nothing is queued, and nobody is called."""

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from postino.cli import drawing, output, played_list
from postino.cli.contents import instant_from
from postino.cli.options import Channel, DatabaseUrl, DataDir, Json
from postino.cli.session import Where, perform
from postino.errors import WrongUse
from postino.job import State

if TYPE_CHECKING:
    from postino.engine.rehearsing import Asked
    from postino.engine.simulated import Simulation
    from postino.wiring import Postino

LIVE = tuple(state for state in State if not state.is_final)
PAGE, MOST_PAGES = 1000, 20
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
    from postino.engine.simulated import told
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

    async def work(app: "Postino") -> "tuple[Simulation, Mapping[UUID, str]]":
        found = await play(app, asked)
        return found, {} if as_json else await texts_of(app, found)

    played, texts = perform(Where(data_dir, database_url), work)
    if path is not None:
        from postino.engine.timeline import picture as drawn

        drawing.keep(drawn(played, place), path)
    if as_json:
        output.as_json(told(played))
    else:
        played_list.show(played, texts, place)
    for note in (*notes, *played.notes, *([f"The picture is in {path}."] if path else ())):
        output.hint(note)


async def play(app: "Postino", asked: "Asked") -> "Simulation":
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


async def texts_of(app: "Postino", played: "Simulation") -> "Mapping[UUID, str]":
    """What those say that are posts; of very many, the newest."""
    from postino.post import PostFilter
    from postino.publishing.contents import content_from

    wanted = {ran.job_id for ran in played.ran} | {left.job_id for left in played.left}
    found: dict[UUID, str] = {}
    pages = PostFilter(states=LIVE, limit=PAGE)
    for _ in range(MOST_PAGES):
        posts = await app.posts.list(pages)
        found |= {post.job.id: content_from(post.content).body for post in posts if post.job.id in wanted}
        if len(posts) < PAGE or len(found) == len(wanted):
            break
        pages = replace(pages, before=posts[-1].job.id)
    return found


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
