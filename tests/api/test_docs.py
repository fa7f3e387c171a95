"""docs/api.md says what there is, and nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from postino.api.models import ContentBody, PostBody
from postino.api.query import DEFAULT_LIMIT, MAX_LIMIT
from postino.api.server import make_app
from postino.api.views.posts import render_current_post
from postino.config import PublishingConfig, load_config
from postino.providers.registry import load_built_in
from postino.publishing.post_request import PostRequest
from postino.rules.post_status import Flag, PostStatus
from postino.values.content import Content
from postino.wiring import Postino
from tests.documents import ROOT, code, codes, prose, table, tables

PAGE, ANSWERS = ROOT / "docs" / "api.md", ROOT / "docs" / "answers.md"


ROWS = tables(PAGE, "request", "takes", "what it does", "answers")
TAKES = {code(row["request"]): row["takes"] for row in ROWS}
CONTENT_FIELDS = {*ContentBody.model_fields} - {"reason"}
CONTENTS = "[contents](#a-new-post)"
ASKED = {"401", "422", "429", "503"}  # any request under /v1 may be answered so
CHANGED = ASKED | {"403"}
WITH_BODY = CHANGED | {"400", "408", "413"}
COMMON = {"GET": ASKED, "DELETE": CHANGED, "POST": WITH_BODY, "PATCH": WITH_BODY}


@cache
def announced() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        return make_app(load_config(Path(folder), environment={})).openapi()


def requests() -> dict[str, dict[str, Any]]:
    paths = announced()["paths"].items()
    return {f"{method.upper()} {path}": told for path, methods in paths for method, told in methods.items()}


def shape(name: str) -> dict[str, Any]:
    found: dict[str, Any] = announced()["components"]["schemas"][name]
    return found


def body_of(told: dict[str, Any]) -> dict[str, Any]:
    """The shape of its body; a body that may be left out is of that shape or null."""
    schema = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(schema))
    return shape(names[0]) if names else {}


def test_every_operation_is_documented_once() -> None:
    assert len(TAKES) == len(ROWS)
    assert TAKES.keys() == requests().keys()


@pytest.mark.parametrize("request_line", TAKES)
def test_parameters_are_documented_and_required_ones_bold(request_line: str) -> None:
    cell = TAKES[request_line]
    if cell.startswith("as "):
        cell = TAKES[code(cell)]
    told = {*codes(cell), *(CONTENT_FIELDS if CONTENTS in cell else ())}
    announcement = requests()[request_line]
    body = body_of(announcement)
    asked = {one["name"] for one in announcement.get("parameters", ()) if one["in"] != "path"}
    assert told == asked | {*body.get("properties", ())}
    assert {*re.findall(r"\*\*`([^`]+)`\*\*", cell)} == {*body.get("required", ())}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: code(row["request"]))
def test_statuses_of_each_operation_are_documented(row: dict[str, str]) -> None:
    method, _, path = code(row["request"]).partition(" ")
    told = set(re.findall(r"\d{3}", row["answers"]))
    common = COMMON[method] if path.startswith(("/v1/", "/fp-publisher/v1/")) else set()
    common = common - {"400"} if path == "/v1/imports" else common
    assert told | common == {*requests()[code(row["request"])]["responses"]}
    assert not told & common


def shapes_in(told: object) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(told)))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: code(row["request"]))
def test_response_type_of_each_operation_is_documented(row: dict[str, str]) -> None:
    responses = requests()[code(row["request"])]["responses"]
    given = shapes_in([told for status, told in responses.items() if status < "300"])
    pages = {f"{name}Page" for name in re.findall(r"pages of `(\w+)`", row["answers"])}
    assert pages | {name for name in codes(row["answers"]) if f"{name}Page" not in pages} == given


def answered() -> set[str]:
    """The shapes that answers have, and those within them."""
    found: set[str] = set()
    new = shapes_in([told["responses"] for told in requests().values()])
    while new:
        found |= new
        new = shapes_in([shape(name) for name in new]) - found
    return {name for name in found if "properties" in shape(name) and not name.endswith("Page")}


def test_every_response_type_and_field_is_documented() -> None:
    rows = {code(row["shape"]): row for row in table(ANSWERS, "shape", "meaning", "fields")}
    assert rows.keys() == answered()
    for name, row in rows.items():
        within = re.findall(r"all of `(\w+)`", row["fields"])
        told = {*codes(row["fields"])} - {*within} | {field for one in within for field in shape(one)["properties"]}
        assert told == {*shape(name)["properties"]}, name
        assert row["meaning"] == shape(name)["description"], name


def test_meaning_of_every_status_is_documented() -> None:
    refusals = {int(status) for told in requests().values() for status in told["responses"] if int(status) >= 400}
    by_the_server_itself = {405, 431, 500}
    assert {int(row["status"]) for row in table(PAGE, "status", "meaning")} == refusals | by_the_server_itself


def test_parts_of_bodies_are_documented() -> None:
    parts = {row["part"]: set(codes(row["takes"])) - {"image", "video"} for row in table(PAGE, "part", "takes")}
    named = ("MediaBody", "OverrideBody", "JobFilterBody", "DeadLetterFilterBody")
    assert [*parts.values()] == [{*shape(name)["properties"]} for name in named]


def test_page_size_is_documented() -> None:
    assert f"({DEFAULT_LIMIT}; at most {MAX_LIMIT})" in prose(PAGE)


def fields_tables() -> list[set[str]]:
    """The names in the first column of the tables of fields: of a new post, and of a post."""
    bodies = [start.split("\n\n")[0].splitlines() for start in prose(PAGE).split("| field | meaning |")[1:]]
    return [{name for line in lines for name in codes(line.partition(" | ")[0])} for lines in bodies]


def test_fields_of_posts_are_documented(tmp_path: Path) -> None:
    new, post = fields_tables()
    assert new == set(PostBody.model_fields)
    assert "*Contents* are all of these up to `timezone`." in prose(PAGE)
    assert post == set(asyncio.run(a_post(tmp_path)))


async def a_post(folder: Path) -> dict[str, object]:
    async with Postino(load_config(folder, environment={})) as app:
        account = await app.accounts.add("bluesky", "ada.example.org", {"password": "x"})
        [written] = await app.posts.schedule(PostRequest(content=Content(body="Hello"), accounts=(account.id,)))
        return await render_current_post(app, written.post)


def test_statuses_and_flags_of_posts_are_documented() -> None:
    text = prose(PAGE)
    assert all(f"`{word}`" in text for word in (*PostStatus, *Flag))


def test_quickstart_names_the_delay_before_a_lookup() -> None:
    bluesky = load_built_in().providers["bluesky"]
    waited = timedelta(seconds=PublishingConfig().send_within) + bluesky.timeout + bluesky.visibility
    assert waited == timedelta(seconds=40)
    text = " ".join((ROOT / "docs" / "quickstart.md").read_text().split())
    assert "forty seconds for Bluesky" in text
