"""Whatever blackout the API accepts holds exactly the posts in its scope, and delays no others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.engine.conftest import database_url
from tests.extremes.in_process import Fields
from tests.extremes.neighbours import Neighbourhood, list_post_ids, open_and_work
from tests.extremes.values import (
    BYTES,
    FEW_ZONES,
    LABELS,
    LOCALS,
    NUMBERS,
    REFUSED_LABELS,
    REFUSED_ZONES,
    TEXTS,
    ZONES,
    extreme_fields,
    few,
    list_single_extremes,
)
from tests.publishing.mastodon_server import add_account

__all__ = ["database_url"]

MALLORY = "mastodon:mallory"
CLOCKS = ["00:00", "23:59", "24:00", "02:30", "12:60", "1:00", "00:00:00", "", " 01:00", "٠١:٠٠", "\x00", "x" * 5000, 7]
VALUES: dict[str, list[Any]] = {
    "start": [None, *CLOCKS],
    "end": [None, *CLOCKS],
    "timezone": [None, *ZONES, *REFUSED_ZONES],
    "days": [None, [], [0], [6, 6], [*range(7)], [7], [-1], [True], ["0"], [0] * 10_000, *([it] for it in NUMBERS)],
    "reason": [None, *TEXTS],
    "brand": [None, *LABELS, *REFUSED_LABELS],
    "account": [None, MALLORY, *LABELS, *REFUSED_LABELS],
    "scope": [None, "channel", "account", "all", "", "network", "\x00", 7],
}
OWN = {"scope": "brand", "brand": "mallory", "start": "00:00", "end": "00:00", "timezone": "UTC"}
EVERYBODY = {name: value for name, value in OWN.items() if name != "brand"} | {"scope": "all"}
CHANNEL = EVERYBODY | {"scope": "channel", "channel": "mastodon"}
FOR_ALL = {name: VALUES[name] for name in ("start", "end", "timezone", "days", "reason")}
REQUIRED = ("scope", "channel", "brand", "account", "start", "end", "timezone", "days")
WINDOWS = [
    Fields({**OWN, "start": start, "end": end, "timezone": zone, "days": days})
    for start, end in (("02:30", "02:31"), ("22:00", "07:00"), ("23:59", "00:00"), ("00:00", "23:59"))
    for zone in FEW_ZONES
    for days in ([], [0])
]
SOON = f"{datetime.now(UTC) + timedelta(30):%Y-%m-%dT%H:%M:%S}"  # which a forecast covers
LATER = [Fields(text="later", accounts=[MALLORY], at=at, timezone=zone, allow_duplicate=True)
         for at in (SOON, *LOCALS) for zone in FEW_ZONES]  # fmt: skip


@few
@example(
    own=[*list_single_extremes(OWN, VALUES), *WINDOWS],
    shared=[*list_single_extremes(EVERYBODY, FOR_ALL), Fields(CHANNEL)],
)
@given(
    own=st.lists(extreme_fields(OWN, VALUES), min_size=10),
    shared=st.lists(extreme_fields(EVERYBODY, FOR_ALL) | extreme_fields(CHANNEL, FOR_ALL), min_size=5),
)
def test_accepted_blackouts_hold_only_their_posts(
    database_url: str, tmp_path: Path, own: list[Fields], shared: list[Fields]
) -> None:
    asyncio.run(black_out_beside_others(database_url, tmp_path, own, shared))


async def black_out_beside_others(url: str, folder: Path, own: list[Fields], shared: list[Fields]) -> None:
    async with open_and_work(url, folder) as hood:
        await add_account(hood.app, "mallory", hood.server.url, "mallory")
        posts = list_post_ids(await hood.api.create("/v1/posts", LATER, ("at", "timezone")))
        # One that covers everybody is for the second half.
        own = [body for body in own if body.get("scope") != "all"]
        await create_blackouts(hood, own)
        posts += list_post_ids(await hood.api.create("/v1/posts", [make_post()], ("at",)))
        await hood.check_neighbours()
        shared_ids = await create_blackouts(hood, shared)
        await hood.check_neighbours(allow_blackout=True)
        await hood.wait_for_all(posts)
        await hood.read_everything(posts)
        await preview_everywhere(hood)
        for blackout_id in shared_ids:
            assert (await hood.api.ask("DELETE", f"/v1/blackouts/{blackout_id}", reason=BYTES))[0] == 200
        await hood.check_neighbours()
        await hood.settle_all(posts)


def make_post(account: str = MALLORY, **fields: Any) -> Fields:
    return Fields(text="now", accounts=[account], **fields)


async def create_blackouts(hood: Neighbourhood, bodies: list[Fields]) -> list[str]:
    """Preview and create these blackouts. Both refuse the same ones."""
    created = []
    for body in bodies:
        preview = await hood.api.ask("POST", "/v1/blackouts", body, preview="true")
        answers = await hood.api.create("/v1/blackouts", [body], REQUIRED)
        assert preview[0] == 200 if answers else preview[0] >= 400, (body, preview)
        created += [answer["id"] for answer in answers]
    return created


async def preview_everywhere(hood: Neighbourhood) -> None:
    """Ask what would happen at each time: on the edge of a change of the clocks, and at the end of time."""
    for at in LOCALS:
        for zone in FEW_ZONES:
            job = {"channel": "mastodon", "account": MALLORY, "run_at": at, "timezone": zone}
            await hood.api.ask("POST", "/v1/jobs/test", job)
            await hood.api.ask("POST", "/v1/posts", make_post(at=at, timezone=zone, preview=True))
            await hood.api.ask("POST", "/v1/posts/validate", make_post(at=at, timezone=zone))
    await hood.api.ask("POST", "/v1/posts", make_post(preview=True))
