"""docs/api.md says what there is, and nothing else; docs/api-reference.md is what openapi.json says."""

from __future__ import annotations

import asyncio
import json
import runpy
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from postino.api.models import PostBody
from postino.api.query import DEFAULT_LIMIT, MAX_LIMIT
from postino.api.server import make_app
from postino.api.views.posts import render_current_post
from postino.client.types.posts import PostView
from postino.config import PublishingConfig, load_config
from postino.providers.registry import load_built_in
from postino.publishing.post_request import PostRequest
from postino.rules.post_status import Flag, PostStatus
from postino.values.content import Content
from postino.wiring import Postino
from tests.documents import ROOT, codes, flow_text, prose, table

PAGE, REFERENCE = ROOT / "docs" / "api.md", ROOT / "docs" / "api-reference.md"


@cache
def read_openapi() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        return make_app(load_config(Path(folder), environment={})).openapi()


def test_the_reference_is_what_openapi_json_says() -> None:
    write_reference = runpy.run_path(str(ROOT / "scripts" / "api_reference.py"))["write_reference"]
    assert REFERENCE.read_text() == write_reference(json.loads((ROOT / "openapi.json").read_text())), "make openapi"


def test_the_page_explains_every_error_status() -> None:
    statuses = {
        int(status)
        for methods in read_openapi()["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
        if int(status) >= 400
    }
    by_the_server_itself = {405, 431, 500}
    assert {int(row["status"]) for row in table(PAGE, "status", "meaning")} == statuses | by_the_server_itself


def test_the_documented_page_sizes_match_the_code() -> None:
    assert f"({DEFAULT_LIMIT}; at most {MAX_LIMIT})" in flow_text(PAGE)


def fields_tables() -> list[set[str]]:
    """Return the names in the tables of the fields of a new post and of a post."""
    bodies = [start.split("\n\n")[0].splitlines() for start in prose(PAGE).split("| field | meaning |")[1:]]
    return [{name for line in lines for name in codes(line.partition(" | ")[0])} for lines in bodies]


def test_the_docs_list_exactly_the_fields(tmp_path: Path) -> None:
    new, post = fields_tables()
    assert new == set(PostBody.model_fields)
    assert post == set(asyncio.run(a_post(tmp_path)))


async def a_post(folder: Path) -> PostView:
    async with Postino(load_config(folder, environment={})) as app:
        account = await app.accounts.add("bluesky", "ada.example.org", {"password": "x"})
        [written] = await app.posts.schedule(PostRequest(content=Content(body="Hello"), accounts=(account.id,)))
        return await render_current_post(app, written.post)


def test_the_docs_list_every_status_and_flag() -> None:
    text = prose(PAGE)
    assert all(f"`{word}`" in text for word in (*PostStatus, *Flag))


def test_the_quickstart_names_the_quarantine_of_a_lost_response() -> None:
    bluesky = load_built_in().providers["bluesky"]
    waited = timedelta(seconds=PublishingConfig().send_within) + bluesky.timeout + bluesky.listing_delay
    assert waited == timedelta(seconds=40)
    text = " ".join((ROOT / "docs" / "quickstart.md").read_text().split())
    assert "forty seconds for Bluesky" in text
