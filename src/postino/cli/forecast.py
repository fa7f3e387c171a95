"""`postino simulate`: what would run when, as things are now. Nothing is queued, and nobody is called."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import forecast_table, output, svg_export
from postino.cli.connection import Target, open_api
from postino.cli.errors import in_options
from postino.cli.options import Channel, Json, with_target
from postino.values.time_zones import get_zone

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

LIVE = "scheduled,publishing,uncertain"
A_PAGE, MOST_LOOKED_AT = 200, 20_000

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


@with_target
def simulate(
    until: UntilTime,
    from_: FromTime = None,
    channel: Channel = None,
    brand: Brand = None,
    workers: Workers = None,
    seconds_per_job: Seconds = None,
    timezone: Timezone = None,
    picture: PictureFile = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """What would run when, by the real rules on a clock of its own. Nothing is queued, and nobody is called."""
    place, path = get_zone(timezone or "UTC"), svg_export.parse_picture_path(picture)
    narrowed: dict[str, Any] = {"timezone": timezone, "channel": channel, "brand": brand, "workers": workers}
    with in_options(), open_api(target) as postino:
        played: dict[str, Any] = {
            **postino.simulate(
                until, from_at=from_, **narrowed, seconds_per_job=seconds_per_job, picture=path is not None
            )
        }
        texts = {} if as_json else fetch_texts(postino, played)
    if path is not None:
        svg_export.keep(played.pop("picture"), path)
    if as_json:
        output.print_json(played)
    else:
        forecast_table.show(played, texts, place)
    for note in (*played["notes"], *([f"The picture is in {path}."] if path else ())):
        output.print_hint(note)


def fetch_texts(postino: "QueueApi", played: Mapping[str, Any]) -> dict[str, str]:
    """What those say that are posts; of very many, the newest."""
    wanted = {one["id"] for one in (*played["ran"], *played["left"])}
    found: dict[str, str] = {}
    for post in islice(postino.posts.each(status=LIVE, limit=A_PAGE), MOST_LOOKED_AT):
        if post["id"] in wanted:
            found[post["id"]] = post["text"]
        if len(found) == len(wanted):
            break
    return found
