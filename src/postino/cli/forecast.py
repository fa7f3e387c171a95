"""`postino forecast`: show which jobs would run when. Queues nothing and calls no network."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import forecast_table, output, svg_export
from postino.cli.connection import Target, open_api
from postino.cli.errors import use_option_names
from postino.cli.options import Channel, Json, with_target
from postino.values.time_zones import get_zone

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

UNFINISHED = "scheduled,publishing,uncertain"
A_PAGE, MAX_POSTS = 200, 20_000

UntilTime = Annotated[str, typer.Option("--until", metavar="TIME", help="End of the forecast.", show_default=False)]
FromTime = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Start of the forecast. Default: now.", show_default=False),
]
Brand = Annotated[str | None, typer.Option("--brand", help="Only jobs of this brand.", show_default=False)]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Number of workers. Default: as many as run now.", show_default=False)
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds-per-job",
        help="Seconds per job. Default: what jobs of the channel took recently.",
        show_default=False,
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        help="Time zone of times without an offset, and of the output.",
        show_default=False,
    ),
]
PictureFile = Annotated[
    str | None,
    typer.Option(
        "--picture", metavar="FILE", help="Also write an image to this file: out.svg or out.png.", show_default=False
    ),
]


@with_target
def show_forecast(
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
    """Show which jobs would run when.

    Queues nothing and calls no network.
    """
    zone, path = get_zone(timezone or "UTC"), svg_export.parse_picture_path(picture)
    filters: dict[str, Any] = {"timezone": timezone, "channel": channel, "brand": brand, "workers": workers}
    with use_option_names(), open_api(target) as postino:
        forecast: dict[str, Any] = {
            **postino.forecast(
                until, from_at=from_, **filters, seconds_per_job=seconds_per_job, picture=path is not None
            )
        }
        texts = {} if as_json else fetch_texts(postino, forecast)
    if path is not None:
        svg_export.save(forecast.pop("picture"), path)
    if as_json:
        output.print_json(forecast)
    else:
        forecast_table.print_forecast(forecast, texts, zone)
    for note in (*forecast["notes"], *([f"Saved the picture to {path}."] if path else ())):
        output.print_hint(note)


def fetch_texts(postino: "QueueApi", forecast: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the posts by id; of very many, the newest."""
    ids = {item["id"] for item in (*forecast["started_jobs"], *forecast["unstarted_jobs"])}
    texts: dict[str, str] = {}
    for post in islice(postino.posts.iterate(status=UNFINISHED, limit=A_PAGE), MAX_POSTS):
        if post["id"] in ids:
            texts[post["id"]] = post["text"]
        if len(texts) == len(ids):
            break
    return texts
