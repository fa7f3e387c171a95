"""Cancels of a post that a worker is publishing: before its request leaves they win, afterwards they say why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.processes import Up, eventually

pytestmark = pytest.mark.slow
SLOW = {"seconds": 2}


@pytest.fixture
def patient_up(new_database_url: str, tmp_path: Path) -> Iterator[Up]:
    """Start `postino up` with the usual timeouts, so that a slow call is no lost one."""
    settings = {"POSTINO_DATABASE_URL": new_database_url, "POSTINO_PUBLISHING_TIMEOUT_FACTOR": "1"}
    with Up(tmp_path / "data", **settings) as up:
        yield up
        up.interrupt()


def find_account(up: Up) -> str:
    accounts = up.api.get("/v1/accounts")["data"]
    return str(next(one["id"] for one in accounts if one["network"] == "mastodon"))


def has_begun(up: Up, endpoint: str) -> bool:
    rows = up.sandbox.get("/_sandbox/calls/log?network=mastodon")["data"]
    return any(row["endpoint"] == endpoint for row in rows)


def has_no_call_under_way(up: Up) -> bool:
    return not any(row["in_flight"] for row in up.sandbox.get("/_sandbox/calls")["data"])


def test_cancel_of_a_post_that_a_worker_prepares_wins(patient_up: Up) -> None:
    up, account = patient_up, find_account(patient_up)
    up.fault("mastodon", "slow", endpoint="media", params=SLOW)
    picture = {"url": f"{up.ready['sandbox_url']}/_sandbox/media/sample.jpg"}
    made = up.post("Never to be seen", account, media=[picture])["posts"][0]
    eventually(lambda: has_begun(up, "media"))
    assert up.api.get(f"/v1/posts/{made['id']}")["status"] == "publishing"
    reply = up.api.ask("POST", f"/v1/posts/{made['id']}/cancel", {"reason": "a recall"})
    assert (reply.status, reply.json["status"]) == (200, "cancelled"), reply
    up.wait_for_status(up.post("The account is free", account)["posts"][0]["id"])
    eventually(lambda: has_no_call_under_way(up))
    up.wait_for_status(up.post("The last one", account)["posts"][0]["id"])
    assert up.texts() == ["The account is free", "The last one"]
    stored = up.api.get(f"/v1/posts/{made['id']}")
    assert (stored["status"], stored["attempts"]) == ("cancelled", 0)


def test_cancel_of_a_post_whose_request_has_left_says_so_and_changes_nothing(patient_up: Up) -> None:
    up, account = patient_up, find_account(patient_up)
    up.fault("mastodon", "slow", endpoint="statuses", params=SLOW)
    made = up.post("Already on its way", account)["posts"][0]
    eventually(lambda: has_begun(up, "statuses"))
    reply = up.api.ask("POST", f"/v1/posts/{made['id']}/cancel")
    assert reply.status == 409, reply
    assert "its request may have left already; if the network refuses it, it waits" in reply.json["detail"]
    up.wait_for_status(made["id"])
    assert up.texts() == ["Already on its way"]
