"""Explain posts and jobs, and evaluate whether a job could run. Nothing is changed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postino import Postino
from postino.config import load_config
from postino.values.job import Job
from tests.api.processes import Server

pytestmark = pytest.mark.slow
BLUESKY = "bluesky:ada.example.org"
LATER = datetime(2035, 6, 1, 12, tzinfo=UTC)
TEST = "/v1/jobs/test"

NOBODY = "01a1e2d3-293e-7008-8c42-03ab570aab35"


@pytest.fixture(scope="module")
def job(server: Server) -> Job:
    """Add the account of all posts and enqueue a job of an application."""

    async def prepare(folder: Path) -> Job:
        async with Postino(load_config(folder, environment={})) as app:
            await app.accounts.add("bluesky", "ada.example.org", {"password": "abcd-efgh"}, brand="acme")
            return await app.enqueue("letter", at=LATER)

    return asyncio.run(prepare(server.folder))


@pytest.fixture(scope="module")
def post(server: Server, job: Job) -> str:
    reply = server.api.ask("POST", "/v1/posts", {"text": "Hello", "accounts": [BLUESKY], "at": LATER.isoformat()})
    assert reply.status == 201, reply
    return str(reply.json["id"])


def test_explains_why_a_post_is_not_published(server: Server, post: str) -> None:
    response = server.api.get(f"/v1/posts/{post}/explain")
    assert response["sentence"] == f"This post for {BLUESKY} is due at 2035-06-01 12:00 UTC."
    assert (response["runnable"], response["eta"]) == (False, "2035-06-01T12:00:00.000000Z")
    [blocker] = response["blockers"]
    assert list(blocker) == ["kind", "sentence", "since_at", "until_at", "cause", "unblock"]
    assert (blocker["kind"], blocker["until_at"]) == ("not_due", response["eta"])


def test_sentence_uses_the_requested_time_zone(server: Server, post: str) -> None:
    response = server.api.get(f"/v1/posts/{post}/explain?timezone=Asia/Tokyo")
    assert response["sentence"].endswith("2035-06-01 21:00 Asia/Tokyo.")


def test_explains_why_a_job_has_not_run(server: Server, job: Job, post: str) -> None:
    response = server.api.get(f"/v1/jobs/{job.id}/explain")
    assert response["sentence"] == "This job of letter is due at 2035-06-01 12:00 UTC."
    assert server.api.get(f"/v1/jobs/{post}/explain") == server.api.get(f"/v1/posts/{post}/explain")


def test_evaluation_reports_a_blackout_and_queues_nothing(server: Server, post: str) -> None:
    window = {"scope": "brand", "brand": "acme", "start": "11:00", "end": "13:00", "timezone": "UTC"}
    blackout = server.api.ask("POST", "/v1/blackouts", window)
    assert blackout.status == 201, blackout
    before = server.api.get("/v1/posts")
    wanted = {"channel": "bluesky", "account": BLUESKY, "run_at": "2035-06-01T14:00", "timezone": "Europe/Rome"}
    body = server.api.ask("POST", TEST, wanted).json
    [blocker] = body["evaluation"].pop("blockers")
    assert body == {
        "channel": "bluesky",
        "run_at": "2035-06-01T12:00:00.000000Z",
        "evaluation": {"runnable": False, "in_blackout": True, "has_collision": True},
        "notes": [],
    }
    assert (blocker["kind"], blocker["until_at"]) == ("blackout", "2035-06-01T13:00:00.000000Z")
    assert server.api.get(f"/v1/posts/{post}/explain")["eta"] == "2035-06-01T13:00:00.000000Z"
    assert server.api.get("/v1/posts") == before
    assert server.api.ask("DELETE", f"/v1/blackouts/{blackout.json['id']}").status == 200
    free = server.api.ask("POST", TEST, wanted | {"run_at": "2035-06-01T18:00"}).json
    assert free["evaluation"] == {"runnable": True, "in_blackout": False, "has_collision": False, "blockers": []}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "channel"),
    ({"channel": 7}, "channel"),
    ({"channel": ""}, "channel"),
    ({"channel": "x" * 501}, "channel"),
    ({"channel": "x\0"}, "channel"),
    ({"channel": "mastodon", "account": BLUESKY}, "account"),
    ({"channel": "x", "queue": "lowest"}, "queue"),
    ({"channel": "x", "run_at": "noon"}, "run_at"),
    ({"channel": "x", "run_at": "2035-06-01T12:00"}, "timezone"),
    ({"channel": "x", "run_at": "2035-06-01T12:00", "timezone": "Rome"}, "timezone"),
    ({"channel": "x", "at": "2035-06-01T12:00Z"}, "at"),
]


@pytest.mark.parametrize(("body", "field"), WRONG)
def test_invalid_field_is_named(server: Server, post: str, body: dict[str, Any], field: str) -> None:
    reply = server.api.ask("POST", TEST, body)
    assert (reply.status, reply.json["field"]) == (422, field), reply


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/posts/{job}/explain", 404),
        (f"/v1/posts/{NOBODY}/explain", 404),
        (f"/v1/jobs/{NOBODY}/explain", 404),
        ("/v1/jobs/seven/explain", 422),
        ("/v1/jobs/{job}/explain?timezone=Rome", 422),
        ("/v1/jobs/{job}/explain?zone=Europe/Rome", 422),
    ],
)
def test_missing_things_get_404(server: Server, job: Job, path: str, status: int) -> None:
    assert server.api.ask("GET", path.format(job=job.id)).status == status
