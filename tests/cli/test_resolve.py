"""With everything up: a post is followed until it is out, and a person's word settles what is uncertain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.processes import Up
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue

pytestmark = pytest.mark.slow
TELEGRAM = "telegram:postcard"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with Up(tmp_path_factory.mktemp("up") / "data") as up:
        yield up


@pytest.fixture(autouse=True)
def _there(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTINO_DATA_DIR", str(up.folder))


def test_post_is_followed_until_published(up: Up, postino: Postino) -> None:
    answer = postino("post", "Followed", "--to", "bluesky", "--to", "mastodon", "--wait")
    assert (answer.code, answer.err) == (0, "")
    last = {account: status for account, status, *_ in map(str.split, answer.rows)}
    assert [*last.values()] == ["published", "published"]
    assert up.texts().count("Followed") == 2
    body = postino("post", "Followed, for programs", "--to", "bluesky", "--wait", "--json").json
    assert body["status"] == "published"
    refused = postino("posts", "cancel", body["id"])
    assert (refused.code, "it is published, and that is final" in refused.err) == (4, True)


def test_followed_post_that_fails_is_exit_code_1(up: Up, postino: Postino) -> None:
    no_image = f"{up.sandbox.url}/_sandbox/published"
    answer = postino("post", "Not an image", "--to", "mastodon", "--media", no_image, "--wait")
    assert answer.code == 1
    assert "failed" in answer.rows[-1]
    assert "image" in answer.rows[-1]
    post_id = answer.rows[-1].split()[2]
    assert postino("posts", "show", post_id).rows[-1].endswith(f"posts replay {post_id} --force --reason WHY")
    again = postino("posts", "replay", post_id, "--reason", "it is one now")
    assert (again.code, "--force" in again.err) == (4, True)


@pytest.mark.parametrize(
    ("verdict", "status", "times"),
    [("--live", "published", 1), ("--send-again", "published", 2), ("--give-up", "failed", 1)],
)
def test_resolve_settles_uncertain_post(up: Up, postino: Postino, verdict: str, status: str, times: int) -> None:
    text = f"Lost, then {verdict}"
    up.fault("telegram", "process_then_drop", endpoint="sendMessage")
    followed = postino("post", text, "--to", "telegram", "--wait")
    assert followed.code == 1
    assert "posts resolve" in followed.err
    post_id = followed.rows[-1].split()[2]
    [entry] = [it for it in up.list_published() if it["text"] == text]
    result = [verdict, entry["remote_id"]] if verdict == "--live" else [verdict]
    answer = postino("posts", "resolve", post_id, *result, "--reason", "I looked")
    assert answer.code == 0, answer
    actor, action, subject, reason = LocalQueue(up.folder).last_audit()
    assert (action, subject, reason) == ("job.resolved", post_id, "I looked")
    assert actor.startswith("cli:")
    up.wait_for_status(post_id, status)
    assert up.texts().count(text) == times
    again = postino("posts", "resolve", post_id, "--give-up", "--reason", "too late")
    assert again.code == 4
