"""docs/api.md says what there is, and nothing else."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from postino.api.models import PostBody
from postino.api.server import make_app
from postino.config import PublishingConfig, load
from postino.content import Content
from postino.providers import PROVIDERS
from postino.publishing.posts import Wish
from postino.rules.standing import Flag, PostStatus
from postino.wiring import Postino
from tests.documents import ROOT, code, codes, prose, table

PAGE = ROOT / "docs" / "api.md"


def test_every_request_is_told_and_no_other(tmp_path: Path) -> None:
    paths = make_app(load(tmp_path, environment={})).openapi()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {code(row["request"]) for row in table(PAGE, "request", "what it does")} == there


def fields_tables() -> list[set[str]]:
    """The names in the first column of the tables of fields: of a new post, and of a post."""
    bodies = [start.split("\n\n")[0].splitlines() for start in prose(PAGE).split("| field | meaning |")[1:]]
    return [{name for line in lines for name in codes(line.partition(" | ")[0])} for lines in bodies]


def test_every_field_is_told_and_no_other(tmp_path: Path) -> None:
    new, post = fields_tables()
    assert new == set(PostBody.model_fields)
    assert post == set(asyncio.run(a_post(tmp_path)))


async def a_post(folder: Path) -> dict[str, object]:
    async with Postino(load(folder, environment={})) as app:
        account = await app.accounts.add("bluesky", "ada.example.org", {"password": "x"})
        [written] = await app.posts.schedule(Wish(content=Content(body="Hello"), accounts=(account.id,)))
        return await app.teller.post(written.post)


def test_every_status_and_flag_is_told() -> None:
    text = prose(PAGE)
    assert all(f"`{word}`" in text for word in (*PostStatus, *Flag))


def test_how_long_the_quickstart_says_a_lost_answer_is_waited_for() -> None:
    bluesky = PROVIDERS["bluesky"]
    waited = timedelta(seconds=PublishingConfig().send_within) + bluesky.timeout + bluesky.visibility
    assert waited == timedelta(seconds=40)
    assert "forty seconds for\nBluesky" in (ROOT / "docs" / "quickstart.md").read_text()
