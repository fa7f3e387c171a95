"""`postino post` and `postino posts`, without a worker: what is queued, shown, changed and refused."""

from __future__ import annotations

import io
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from postino import Job, State
from postino import Postino as App
from postino.stores.records import JobFilter, WorkerInfo
from tests.adoption import adopt_database
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal
from tests.engine.conftest import run_worker, wait_for

BLUESKY, MASTODON, TELEGRAM = "bluesky:ada.example.org", "mastodon:ada", "telegram:ada"
LATER = "2035-06-01T12:00:00Z"


@pytest.fixture(autouse=True)
def _accounts(local_queue: LocalQueue) -> None:
    async def add(app: App) -> None:
        secret = {"password": "abcd-efgh", "access_token": "a-token", "bot_token": "1:t", "chat_id": "-1"}
        await app.accounts.add("bluesky", "ada.example.org", secret)
        await app.accounts.add("mastodon", "ada", secret, base_url="https://social.example.org")
        await app.accounts.add("telegram", "ada", secret)

    local_queue.perform(add)


@pytest.fixture
def later(postino: Postino) -> Any:
    answer = postino("post", "Later", "--to", "bluesky", "--at", LATER, "--json")
    assert answer.code == 0, answer
    return answer.json


def test_post_is_queued_with_hint_about_missing_worker(postino: Postino, local_queue: LocalQueue) -> None:
    answer = postino("post", "Hello", "--to", "bluesky", "--to", TELEGRAM)
    assert answer.code == 0
    assert [line.split()[:2] for line in answer.rows] == [[BLUESKY, "scheduled"], [TELEGRAM, "scheduled"]]
    assert "No worker is running" in answer.err
    listed = postino("posts", "list", "--json").json
    assert [(post["text"], post["status"]) for post in listed["data"]] == [("Hello", "scheduled")] * 2


def test_missing_worker_hint_includes_sandbox(local_queue: LocalQueue, postino: Postino, mode: str) -> None:
    (local_queue.folder / "sandbox.url").write_text("http://127.0.0.1:1")
    answer = postino("post", "Hello", "--to", "bluesky")
    assert ("sandbox, with `" in answer.err, "on the server with `" in answer.err) == (
        (True, False) if mode == "local" else (False, True)
    )


def test_times_are_in_the_named_zone(postino: Postino) -> None:
    when = ("--at", "2035-06-01T09:00", "--timezone", "Europe/Rome")
    made = postino("post", "Zoned", "--to", "bluesky", *when)
    assert "at 2035-06-01 09:00 CEST" in made.out
    [post] = postino("posts", "list", "--json").json["data"]
    moved = postino("posts", "reschedule", post["id"], "--at", "2035-06-02T10:00", "--timezone", "Europe/Rome")
    assert "for 2035-06-02 10:00 CEST." in moved.out
    result = postino("posts", "explain", post["id"], "--timezone", "Europe/Rome")
    assert result.rows[-1] == "eta  2035-06-02 10:00 CEST"
    assert "Z " not in result.rows[2]


@pytest.mark.parametrize("name", [BLUESKY, "bluesky", "ada.example.org"])
def test_account_is_matched_by_id_network_or_handle(postino: Postino, name: str) -> None:
    assert postino("post", "Hello", "--to", name, "--json").json["account"] == BLUESKY


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("ada", 2, f"matches several accounts: {MASTODON}, {TELEGRAM}"),
        ("blusky", 3, "Did you mean bluesky?"),
        ("zebra", 3, "Use one of:"),
    ],
)
def test_unknown_or_ambiguous_account_is_rejected(postino: Postino, name: str, code: int, words: str) -> None:
    answer = postino("post", "Hello", "--to", name)
    assert (answer.code, answer.out) == (code, "")
    assert words in answer.err


def test_text_is_read_from_standard_input(postino: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("From a pipe\n"))
    assert postino("post", "-", "--to", "bluesky", "--json").json["text"] == "From a pipe\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x" * 301, "--to", "bluesky"], "1 character too long for Bluesky"),
        (["x" * 5001, "--to", "bluesky"], "it has 5,001 characters, and the maximum is 5,000"),
        (["", "--to", "bluesky"], "The post for Bluesky is empty"),
        (["x", "--to", "bluesky", "--at", "tomorrow"], "at: 'tomorrow' is not a time"),
        (["x", "--to", "bluesky", "--at", "2035-06-01T12:00"], "--timezone"),
        (["x", "--to", "bluesky", "--at", "2035-06-01T12:00", "--timezone", "Rome"], "Did you mean Europe/Rome?"),
        (["x", "--to", "bluesky", "--at", "2020-01-01T00:00Z"], "has passed"),
        (["x", "--to", "bluesky", "--publish-until", "2020-01-01T00:00Z"], "publish_until"),
        (["x", "--to", "bluesky", "--alt", "a tower"], "alt"),
        (["x", "--to", "bluesky", *["--hashtag", "t"] * 31], "31 hashtags are too many"),
        (["x", "--to", "bluesky", "--media", "poem.txt"], "poem.txt cannot be fetched"),
        (["x"], "--to"),
    ],
)
def test_invalid_post_is_rejected_and_not_queued(postino: Postino, words: list[str], message: str) -> None:
    answer = postino("post", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert postino("posts", "list", "--json").json["data"] == []


def test_time_in_dst_gap_is_noted(postino: Postino) -> None:
    answer = postino("post", "Gap", "--to", "bluesky", "--at", "2035-03-25T02:30", "--timezone", "Europe/Rome")
    assert "at 2035-03-25 03:00 CEST" in answer.out
    assert "the clocks go forward" in answer.err


def test_preview_shows_every_network_and_queues_nothing(postino: Postino) -> None:
    answer = postino("post", "x" * 400, "--to", "bluesky", "--to", "mastodon", "--preview")
    assert answer.code == 2
    assert "error: The text is 100 characters too long for Bluesky" in answer.out
    body = postino("post", "Hi", "--to", "bluesky", "--hashtag", "rome", "--preview", "--json").json
    assert body["posts"][0]["parts"] == ["Hi\n\n#rome"]
    assert postino("posts", "list", "--json").json["data"] == []


def test_all_content_options_are_stored(postino: Postino, local_queue: LocalQueue) -> None:
    body = postino(
        "post", "First", "--to", "bluesky", "--thread", "Second", "--thread", "Third", "--media",
        "https://example.org/a.jpg", "--alt", "A tower", "--hashtag", "rome", "--at", LATER, "--publish-until",
        "2035-06-01T13:00:00Z", "--json",
    ).json  # fmt: skip
    payload = local_queue.perform(lambda app: app.store.job(body["id"])).payload.decode()
    for words in ("First", "#rome", "Second", "Third", "https://example.org/a.jpg", "A tower"):
        assert words in payload
    assert body["publish_until"] == "2035-06-01T13:00:00.000000Z"


def test_same_key_creates_one_post(postino: Postino) -> None:
    first = postino("post", "One", "--to", "bluesky", "--key", "k", "--json").json
    assert postino("post", "One", "--to", "bluesky", "--key", "k", "--json").json["id"] == first["id"]
    other = postino("post", "Two", "--to", "bluesky", "--key", "k", "--json")
    assert (other.code, other.error["type"]) == (4, "conflict")
    assert postino("posts", "cancel", first["id"]).code == 0
    assert postino("post", "One", "--to", "bluesky", "--key", "k", "--json").json["status"] == "cancelled"


def test_duplicate_is_rejected_unless_allowed(postino: Postino) -> None:
    assert postino("post", "Twice", "--to", "bluesky").code == 0
    refused = postino("post", "Twice", "--to", "bluesky")
    assert refused.code == 4
    assert "--allow-duplicate" in refused.err
    assert postino("post", "Twice", "--to", "bluesky", "--allow-duplicate").code == 0


def test_edit_reschedule_and_cancel_are_audited(postino: Postino, local_queue: LocalQueue, later: Any) -> None:
    post_id = later["id"]
    edited = postino("posts", "edit", post_id, "--text", "Sooner", "--reason", "a typo")
    assert edited.out == f"Post {post_id} is edited and now scheduled, for 2035-06-01T12:00:00Z.\n"
    assert local_queue.last_audit()[1:] == ("job.edited", post_id, "a typo")
    moved = postino("posts", "reschedule", post_id, "--at", "2035-07-01T14:00", "--timezone", "Europe/Rome", "--json")
    assert moved.json["scheduled_at"] == "2035-07-01T12:00:00.000000Z"
    assert moved.json["text"] == "Sooner"
    assert moved.json["notes"] == []
    assert postino("posts", "cancel", post_id, "--reason", "over").out == f"Post {post_id} is cancelled.\n"
    assert local_queue.last_audit()[1:] == ("job.cancelled", post_id, "over")
    refused = postino("posts", "edit", post_id, "--text", "Never")
    assert refused.code == 4
    assert refused.err.startswith(f"Post {post_id} cannot be edited: it was cancelled")


def test_reschedule_now_publishes(postino: Postino, later: Any, local_queue: LocalQueue) -> None:
    assert postino("posts", "reschedule", later["id"], "--now").code == 0
    job = local_queue.perform(lambda app: app.store.job(later["id"]))
    assert job.state is State.PENDING
    assert job.run_at is not None
    assert job.run_at.year < 2035


@pytest.fixture
def paused_account(postino: Postino, local_queue: LocalQueue) -> None:
    """Register a worker and pause the account."""
    worker = WorkerInfo(id="w", host=socket.gethostname(), pid=os.getpid())
    local_queue.perform(lambda app: app.store.register_worker(worker))
    postino("queues", "pause", "--account", "bluesky", "--reason", "recall")


def describe_deferred(post_id: str) -> str:
    return f"Post {post_id} is deferred: Account {BLUESKY} is paused: recall. Run `"


@pytest.mark.usefixtures("paused_account")
@pytest.mark.parametrize("how", [["--wait"], ["--no-wait"]])
def test_deferred_post_is_not_a_failure_and_says_why(how: list[str], postino: Postino) -> None:
    answer = postino("post", "Hello", "--to", "bluesky", *how)
    [line] = answer.rows
    account, status, post_id, *_ = line.split()
    assert (answer.code, account, status) == (0, BLUESKY, "scheduled")
    assert answer.err.startswith(describe_deferred(post_id))
    assert answer.err.endswith(f"posts explain {post_id}` for details.\n")


@pytest.mark.usefixtures("paused_account")
def test_reschedule_now_explains_deferral(postino: Postino, later: Any) -> None:
    answer = postino("posts", "reschedule", later["id"], "--now")
    assert (answer.code, answer.out.startswith(f"Post {later['id']} is rescheduled and now scheduled")) == (0, True)
    assert answer.err.startswith(describe_deferred(later["id"]))


@pytest.mark.slow
@pytest.mark.usefixtures("paused_account")
def test_terminal_does_not_wait_for_closed_gate(folder: Path) -> None:
    result = run_in_terminal("post", "Hello", "--to", "bluesky", POSTINO_DATA_DIR=str(folder))  # and it ends with 0
    assert "is deferred: " in result


def test_reschedule_notes_are_in_json(postino: Postino, later: Any) -> None:
    window = ["--from", "22:00", "--to", "07:00", "--timezone", "Europe/Rome"]
    postino("blackouts", "add", "--account", "bluesky", *window, "--yes")
    words = ["--at", "2035-06-03T23:00", "--timezone", "Europe/Rome", "--json"]
    [note] = postino("posts", "reschedule", later["id"], *words).json["notes"]
    assert "the post goes out at 2035-06-04T05:00:00Z" in note


def test_show_prints_all_fields(postino: Postino, later: Any) -> None:
    shown = postino("posts", "show", later["id"])
    fields = {line.split()[0]: line.split()[1:] for line in shown.rows if line}
    assert fields["status"] == ["scheduled"]
    assert fields["account"] == [BLUESKY]
    assert "What you can do" in shown.rows
    assert f"posts cancel {later['id']}" in shown.out
    body = postino("posts", "show", later["id"], "--json").json
    assert (body["history"], body["intents"], body["receipts"]) == ([], [], [])


def test_list_by_status_network_and_account_in_pages(postino: Postino) -> None:
    for number in range(3):
        postino("post", f"Number {number}", "--to", "telegram", "--at", LATER)
    postino("post", "Other", "--to", "bluesky", "--at", LATER)
    assert [it["text"] for it in postino("posts", "list", "--network", "bluesky", "--json").json["data"]] == ["Other"]
    first = postino("posts", "list", "--account", "telegram", "--status", "scheduled", "--limit", "2", "--json").json
    assert [it["text"] for it in first["data"]] == ["Number 2", "Number 1"]
    more = postino("posts", "list", "--account", "telegram", "--before", first["next_cursor"], "--json").json
    assert ([it["text"] for it in more["data"]], more["next_cursor"]) == (["Number 0"], None)
    assert postino("posts", "list", "--status", "failed", "--json").json["data"] == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "7"], 2, "`postino posts list`"),
        (["show", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"], 3, "does not exist"),
        (["cancel", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"], 3, "does not exist"),
        (["edit", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"], 2, "Pass at least one change"),
        (["reschedule", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"], 2, "either --at TIME or --now"),
        (["resolve", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "--give-up"], 2, "--reason"),
        (["resolve", "01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "--reason", "x"], 2, "--send-again"),
        (["list", "--status", "lost"], 2, "lost"),
        (["list", "--account", "zebra"], 3, "zebra"),
        (["list", "--network", "blusky"], 2, "network: there is no network 'blusky'. Did you mean bluesky?"),
    ],
)
def test_invalid_arguments_are_wrong_use(postino: Postino, words: list[str], code: int, message: str) -> None:
    answer = postino("posts", *words)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err


def test_posts_commands_ignore_other_jobs(postino: Postino, local_queue: LocalQueue) -> None:
    job = local_queue.enqueue("invoice")
    assert postino("posts", "cancel", job.id).code == 3
    assert local_queue.get(job).state is State.PENDING


async def run_until_posts_wait_for_person(app: App) -> None:
    async def find_waiting_posts() -> list[Job]:
        jobs = await app.store.jobs(JobFilter(states=(State.UNCERTAIN,)))
        return jobs if all(job.run_at is None for job in jobs) else []

    async with run_worker(app):
        await wait_for(find_waiting_posts)


def test_posts_held_after_a_restore_are_resolved_together(postino: Postino, local_queue: LocalQueue) -> None:
    local_queue.perform(lambda app: adopt_database(app.store, "installation", "era"))
    for number in range(3):
        postino("post", f"Number {number}", "--to", "telegram")
    assert "nothing was done" in postino("posts", "resolve", "--held", "--give-up", "--reason", "x").err
    answer = postino("database", "accept", "restored", "--reason", "the disk was lost")
    assert answer.code == 0
    assert "3 due posts may have been published" in answer.err
    local_queue.perform(run_until_posts_wait_for_person)
    listed = postino("posts", "list", "--status", "uncertain", "--json").json["data"]
    assert all(post["needs_person"] and "the database has lost" in post["last_error"].lower() for post in listed)
    answer = postino("posts", "resolve", "--held", "--send-again", "--reason", "I looked: none of them is out")
    assert (answer.code, len(answer.rows)) == (0, 3)
    assert all("and now scheduled" in line for line in answer.rows)
    first, second, _ = (post["id"] for post in listed)
    both = postino("posts", "resolve", first, second, "--give-up", "--reason", "x", "--json")
    assert (both.code, [it["error"]["exit_code"] for it in both.json["data"]]) == (4, [4, 4])
    assert postino("posts", "resolve", first, second, "--live", "7", "--reason", "x").code == 2
