"""Whatever post or draft the API accepts goes out, fails or waits by itself, and delays no post of others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.engine.conftest import database_url
from tests.extremes.in_process import Fields
from tests.extremes.neighbours import Neighbourhood, list_post_ids, open_and_work
from tests.extremes.values import (
    DEEP,
    FEW_ZONES,
    INSTANTS,
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
NO_HOST = "https://no-such-host.invalid/"
OPTION_VALUES = [*TEXTS, *NUMBERS, None, [], {}, DEEP, "public", "x" * 100_000]
OPTIONS = [
    *({name: value} for name in ("visibility", "language") for value in OPTION_VALUES),
    *({name: value} for name in ("spoiler_text", "sensitive") for value in (*NUMBERS, DEEP, "\x00", "x" * 5000)),
    *({name: "1"} for name in ("status", "media_ids", "in_reply_to_id", "unknown", "\x00", "\ud800", "x" * 10_000, "")),
]
MEDIA: list[Any] = [
    [], [{}], [{"url": None}], [{"url": NO_HOST}] * 4, [{"url": NO_HOST}] * 101, [{"id": "1"}], {}, [7],
    *([{"url": url}] for url in (NO_HOST + "a" * 1971, NO_HOST + "a" * 1972, NO_HOST + "%00%ff\u202e.png", "x", "")),
    *([{"url": NO_HOST, "alt": text}] for text in TEXTS),
    *([{"url": NO_HOST, "kind": kind}] for kind in ("image", "video", "gif", None, 7)),
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "text": TEXTS,
    "title": TEXTS,
    "thread": [None, [], [""], ["a"] * 50, ["a"] * 51, "a", *([text] for text in TEXTS)],
    "hashtags": [None, [], ["a"] * 30, ["a"] * 31, ["#"], ["#a#b", "a b"], "a", *([text] for text in TEXTS)],
    "media": MEDIA,
    "placeholders": [
        None, {}, {"a": "x" * 5000}, {"": ""}, {"a": "{{b}}", "b": "{{a}}"}, {"x" * 100_000: ""}, {"\x00": ""},
        {str(n): "" for n in range(100)}, {str(n): "" for n in range(101)}, {"a": 1}, {"a": "\ud800"}, DEEP,
    ],
    "overrides": [
        None, {}, {"x": {}}, {"nope": {}}, {"": {}}, {"x" * 41: {}}, {"\x00": {}}, {"mastodon": None}, DEEP,
        *({"mastodon": {"options": options}} for options in OPTIONS),
        *({"mastodon": {"text": text}} for text in TEXTS),
        *({"bluesky": {"text": text}} for text in TEXTS),
    ],
    "at": [None, *INSTANTS, *LOCALS],
    "publish_until": [None, *INSTANTS, *LOCALS],
    "timezone": [None, *ZONES, *REFUSED_ZONES],
    "accounts": [[MALLORY] * 2, [MALLORY] * 101, [], "a", None, *([name] for name in LABELS + REFUSED_LABELS)],
    "first_comment": [None, *TEXTS],
    "preview": [True, 1],
    "allow_duplicate": [False, "yes"],
    "allow_blackout": [True, None],
}  # fmt: skip
POST = {"text": "hello", "accounts": [MALLORY], "allow_duplicate": True}
REQUIRED = ("accounts", "text", "timezone", "at", "publish_until", "media", "placeholders")
DRAFT = {"text": "hello"}
DRAFT_VALUES = {name: values for name, values in VALUES.items() if name not in ("preview", "allow_duplicate")}
DRAFT_VALUES |= {"brand": [None, *LABELS, *REFUSED_LABELS]}
AT_TIMES = [Fields({**POST, "at": at, "timezone": zone}) for at in LOCALS for zone in FEW_ZONES]
EDITS = [
    *list_single_extremes({}, {name: VALUES[name] for name in ("text", "at", "publish_until", "timezone", "title")})
]


@few
@example(
    posts=[*list_single_extremes(POST, VALUES), *AT_TIMES],
    drafts=list_single_extremes(DRAFT, DRAFT_VALUES)[::4],
    edits=EDITS,
)
@given(
    posts=st.lists(extreme_fields(POST, VALUES), min_size=20),
    drafts=st.lists(extreme_fields(DRAFT, DRAFT_VALUES), min_size=5),
    edits=st.lists(extreme_fields({}, VALUES), min_size=5),
)
def test_accepted_posts_stop_nobody(
    database_url: str, tmp_path: Path, posts: list[Fields], drafts: list[Fields], edits: list[Fields]
) -> None:
    asyncio.run(publish_beside_others(database_url, tmp_path, posts, drafts, edits))


async def publish_beside_others(
    url: str, folder: Path, posts: list[Fields], drafts: list[Fields], edits: list[Fields]
) -> None:
    async with open_and_work(url, folder) as hood:
        await add_account(hood.app, "mallory", hood.server.url, "mallory")
        for body in posts[::3]:
            await hood.api.ask("POST", "/v1/posts/validate", body)
        created = list_post_ids(await hood.api.create("/v1/posts", posts, REQUIRED))
        created += await schedule_drafts(hood, await hood.api.create("/v1/drafts", drafts, REQUIRED))
        created = [*dict.fromkeys(created)]
        await hood.check_neighbours()
        for number, edit in enumerate(edits):
            await hood.api.ask("PATCH", f"/v1/posts/{created[number % len(created)]}", edit)
        await hood.wait_for_all(created)
        await hood.read_everything(created)
        await hood.settle_all(created)
        await hood.check_neighbours()
        await hood.read_everything(created)


async def schedule_drafts(hood: Neighbourhood, drafts: list[Any]) -> list[str]:
    """Read and edit each draft, and make those posts that can become one."""
    answers = []
    for draft in drafts:
        path = f"/v1/drafts/{draft['id']}"
        await hood.api.get(path)
        await hood.api.ask("PATCH", path, {"accounts": [MALLORY], "brand": "mallory"})
        status, answer = await hood.api.ask("POST", f"{path}/schedule", {"allow_duplicate": True})
        if status in (200, 201, 202):
            answers.append(answer)
    return list_post_ids(answers)
