"""`postino jobs explain`, `posts explain` and `jobs test`: why something has not run, and whether it could."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any

import pytest

from postino import Postino as App
from postino import Reject, Unknown
from postino.stores.records import WorkerInfo
from postino.values.job import new_id
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal

BLUESKY = "bluesky:ada.example.org"
LATER = "2035-06-01T12:00:00Z"


@pytest.fixture
def post(local_queue: LocalQueue, postino: Postino) -> str:
    """Create a post for 2035 and a worker."""

    async def prepare(app: App) -> None:
        await app.accounts.add("bluesky", "ada.example.org", {"password": "abcd-efgh"}, brand="acme")
        await app.store.register_worker(WorkerInfo(id="w", host=socket.gethostname(), pid=os.getpid()))

    local_queue.perform(prepare)
    body = postino("post", "Later", "--to", "bluesky", "--at", LATER, "--json").json
    return str(body["id"])


def make_dead_worker() -> WorkerInfo:
    """Return a worker of this machine whose process has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return WorkerInfo(id="dead", host=socket.gethostname(), pid=process.pid)


def kinds(value: Any) -> list[str]:
    return [blocker["kind"] for blocker in value["blockers"]]


def test_post_that_is_not_due_shows_its_time(postino: Postino, post: str) -> None:
    answer = postino("posts", "explain", post)
    assert answer.code == 0
    assert answer.rows[0] == f"This post for {BLUESKY} is due at 2035-06-01 12:00 UTC."
    assert answer.rows[1].split() == ["BLOCKER", "SINCE_AT", "UNTIL_AT", "WHY", "CAUSE"]
    assert answer.rows[2].startswith("not_due")
    assert f"posts reschedule {post} --now`" in answer.out
    assert answer.rows[-1] == f"eta  {LATER}"
    assert "\x1b" not in answer.out


def test_explanation_as_json_and_in_time_zone(postino: Postino, post: str) -> None:
    body = postino("posts", "explain", post, "--timezone", "Europe/Rome", "--json").json
    assert list(body) == ["sentence", "runnable", "eta", "blockers"]
    assert body["sentence"].endswith("is due at 2035-06-01 14:00 Europe/Rome.")
    assert (body["runnable"], body["eta"], kinds(body)) == (False, "2035-06-01T12:00:00.000000Z", ["not_due"])
    assert list(body["blockers"][0]) == ["kind", "sentence", "since_at", "until_at", "cause", "unblock"]
    assert postino("jobs", "explain", post, "--timezone", "Europe/Rome", "--json").json == body


def test_pause_shows_command_that_ends_it(postino: Postino, post: str, folder: object) -> None:
    postino("queues", "pause", "--brand", "acme", "--reason", "recall")
    postino("posts", "reschedule", post, "--now")
    answer = postino("posts", "explain", post, "--data-dir", folder)
    assert answer.rows[0].startswith(f"This post for {BLUESKY} is waiting: brand acme is paused (since ")
    assert answer.rows[0].endswith("It continues when somebody resumes it.")
    assert "recall" in answer.rows[2]
    assert f"queues resume --brand acme --data-dir {folder}`" in answer.out


def test_ended_worker_is_not_counted(postino: Postino, local_queue: LocalQueue) -> None:
    job = local_queue.enqueue("letter")
    assert kinds(postino("jobs", "explain", job.id, "--json").json) == ["no_worker"]
    local_queue.perform(lambda app: app.store.register_worker(make_dead_worker()))
    assert kinds(postino("jobs", "explain", job.id, "--json").json) == ["no_worker"]
    elsewhere = WorkerInfo(id="elsewhere", host="elsewhere", pid=1, types=("letter",))
    local_queue.perform(lambda app: app.store.register_worker(elsewhere))
    body = postino("jobs", "explain", job.id, "--json").json
    assert (kinds(body), body["runnable"]) == ([], True)


def test_final_and_waiting_jobs_are_explained(postino: Postino, local_queue: LocalQueue) -> None:
    failed = local_queue.add_settled_job(Reject("No such page."))
    assert "failed at" in postino("jobs", "explain", failed.id).out
    unsure = local_queue.add_settled_job(Unknown("No answer."))
    answer = postino("jobs", "explain", unsure.id)
    assert "Only a person can tell" in answer.rows[0]
    assert f"jobs resolve {unsure.id} --live REMOTE_ID --reason WHY`" in answer.out


def test_unknown_post_or_job_is_not_found(postino: Postino, local_queue: LocalQueue) -> None:
    job = local_queue.enqueue("letter")
    assert postino("posts", "explain", job.id).code == 3
    assert postino("jobs", "explain", new_id()).code == 3
    assert postino("jobs", "explain", "seven").code == 2
    answer = postino("jobs", "explain", job.id, "--timezone", "Rome")
    assert (answer.code, "Did you mean Europe/Rome?" in answer.err) == (2, True)


def test_jobs_test_queues_nothing(postino: Postino, post: str) -> None:
    answer = postino("jobs", "test", "--channel", "bluesky", "--account", BLUESKY, "--at", "2035-06-01T12:00:30Z")
    assert answer.code == 0
    assert answer.out == (
        "Yes: it could run at 2035-06-01T12:00:30Z. Another job is scheduled within a minute of it.\n"
    )
    assert len(postino("jobs", "list", "--json").json["data"]) == 1


@pytest.mark.parametrize(
    ("words", "collides"),
    [
        (["--account", BLUESKY, "--at", "2035-06-01T12:00:59Z"], True),
        (["--account", BLUESKY, "--at", "2035-06-01T12:01:00Z"], False),
        (["--account", BLUESKY, "--at", "2035-06-01T14:00", "--timezone", "Europe/Rome"], True),
        (["--account", "ada.example.org", "--at", LATER], True),
        (["--at", LATER], True),
        (["--brand", "acme", "--at", LATER], True),
        (["--brand", "other", "--at", LATER], False),
    ],
)
def test_collision_is_job_of_same_account_within_a_minute(
    postino: Postino, post: str, words: list[str], collides: bool
) -> None:
    body = postino("jobs", "test", "--channel", "bluesky", *words, "--json").json
    assert body["evaluation"]["has_collision"] is collides


def test_jobs_test_lists_future_blockers(postino: Postino, post: str) -> None:
    postino("queues", "pause", "--brand", "acme")
    words = ("jobs", "test", "--channel", "bluesky", "--account", BLUESKY, "--at", LATER)
    body = postino(*words, "--json").json
    assert list(body) == ["channel", "run_at", "evaluation", "notes"]
    assert (body["channel"], body["run_at"]) == ("bluesky", "2035-06-01T12:00:00.000000Z")
    assert list(body["evaluation"]) == ["runnable", "in_blackout", "has_collision", "blockers"]
    assert (body["evaluation"]["runnable"], kinds(body["evaluation"])) == (False, ["pause"])
    answer = postino(*words)
    assert answer.rows[0].startswith("No: it could not run at 2035-06-01T12:00:00Z.")
    assert "queues resume --brand acme" in answer.out


def test_unknown_account_is_rejected_and_unknown_brand_hinted(postino: Postino, post: str) -> None:
    refused = postino("jobs", "test", "--channel", "bluesky", "--account", "bluesky:ada.example.com")
    assert (refused.code, refused.err) == (
        3,
        f"Account 'bluesky:ada.example.com' does not exist. Did you mean {BLUESKY}?\n",
    )
    odd = postino("jobs", "test", "--channel", "bluesky", "--brand", "acmee", "--at", LATER)
    assert (odd.code, odd.err) == (0, "No account and no job has the brand acmee. Did you mean acme?\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--channel", ""], "channel"),
        (["--channel", "mastodon", "--account", BLUESKY], f"account: {BLUESKY} is on bluesky, not on mastodon"),
        (["--channel", "x", "--queue", "lowest"], "queue: there is no queue 'lowest'"),
        (["--channel", "blusky"], "channel: there is no channel 'blusky'. Did you mean bluesky?"),
        (["--channel", "x", "--at", "2020-01-01T00:00Z"], "at: 2020-01-01T00:00:00.000000Z has passed."),
        (["--channel", "x", "--at", "noon"], "at: 'noon' is not a time"),
        (["--channel", "x", "--at", "2035-06-01T12:00", "--timezone", "Rome"], "Did you mean Europe/Rome?"),
        ([], "--channel"),
    ],
)
def test_invalid_options_are_named(postino: Postino, post: str, words: list[str], message: str) -> None:
    answer = postino("jobs", "test", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


@pytest.mark.slow
def test_terminal_shows_colours_and_remedies(post: str, folder: object) -> None:
    result = run_in_terminal("posts", "explain", post, POSTINO_DATA_DIR=str(folder))
    assert f"\x1b[33mThis post for {BLUESKY} is due at" in result
    assert " 1  It is not due yet." in result
    assert f"posts reschedule {post} --now" in result
