"""`postino jobs`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from postino import Done, Reject, State, Unknown
from postino.stores.records import AttemptError
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue


def test_piped_list_has_aligned_rows_without_colours(local_queue: LocalQueue, postino: Postino) -> None:
    failed = local_queue.add_settled_job(Reject("two\nlines, and " + "long " * 100), account="a@example.org")
    local_queue.enqueue("a.very.long.type.of.job")
    answer = postino("jobs", "list")
    header, newest, oldest = answer.rows
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert header.split() == [
        "ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "RUN_AT", "FINISHED_AT", "LAST_ERROR",
    ]  # fmt: skip
    assert newest.split()[1:4] == ["pending", "default", "a.very.long.type.of.job"]
    assert oldest.split()[:2] == [str(failed.id), "failed"]
    assert "two lines, and " + "long " * 99 + "long" in oldest
    assert header.index("TYPE") == newest.index("a.very") == oldest.index("post")


def test_empty_piped_list_is_only_the_header(local_queue: LocalQueue, postino: Postino) -> None:
    assert len(postino("jobs", "list").rows) == 1
    assert postino("jobs", "list", "--json").json == {"data": [], "next_cursor": None}


def test_paging_lists_every_job_once(local_queue: LocalQueue, postino: Postino) -> None:
    jobs = local_queue.perform(lambda app: app.enqueue_many([("post", number) for number in range(5)]))
    results: list[str] = []
    arguments: list[str] = []
    for expected in (2, 2, 1):
        page = postino("jobs", "list", "--json", "--limit", 2, *arguments).json
        assert len(page["data"]) == expected
        results += [job["id"] for job in page["data"]]
        arguments = ["--before", page["next_cursor"]]
    assert page["next_cursor"] is None
    assert results == sorted((str(job.id) for job in jobs), reverse=True)
    assert f"--before {results[1]}" in postino("jobs", "list", "--limit", 2).err


def test_full_last_page_has_no_cursor(local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.perform(lambda app: app.enqueue_many([("post", number) for number in range(2)]))
    assert postino("jobs", "list", "--json", "--limit", 2).json["next_cursor"] is None


@pytest.mark.parametrize(
    "option",
    [
        ("--state", "completed"),
        ("--type", "wanted"),
        ("--channel", "instagram"),
        ("--account", "a1"),
        ("--brand", "b1"),
        ("--queue", "high"),
    ],
)
def test_list_filters(option: tuple[str, str], local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.add_settled_job(Done())
    local_queue.enqueue("wanted")
    local_queue.enqueue("other", channel="instagram", account="a1", brand="b1", queue="high")
    assert len(postino("jobs", "list", "--json", *option).json["data"]) == 1


def test_json_job_has_every_field_and_parsed_payload(local_queue: LocalQueue, postino: Postino) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    job = local_queue.enqueue(payload={"text": "però"}, account="a1", queue="low", at=at)
    shown = postino("jobs", "show", job.id, "--json").json
    assert {*job.__slots__, "history", "children"} - {"token"} == shown.keys()
    assert shown["payload"] == {"text": "però"}
    assert (shown["state"], shown["queue"], shown["history"], shown["children"]) == ("pending", "low", [], [])
    assert datetime.fromisoformat(shown["run_at"]) == job.run_at


@pytest.mark.parametrize(
    ("payload", "shown"),
    [(b"\xff\x00", {"base64": "/wA="}), (b"NaN", {"base64": "TmFO"}), (b"[" * 100_000, None), (b"7", 7), (b'"x"', "x")],
)
def test_payload_that_is_not_json_is_shown_byte_for_byte(
    payload: bytes, shown: object, local_queue: LocalQueue, postino: Postino
) -> None:
    answer = postino("jobs", "show", local_queue.enqueue(payload=payload).id, "--json").json["payload"]
    assert answer == shown if shown is not None else list(answer) == ["base64"]


def test_show_lists_attempts_errors_and_children(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.add_settled_job(Reject("no"), AttemptError("ValueError", "no", "Traceback: here\n"))
    child = local_queue.enqueue("comment", parent=job.id)
    plain = postino("jobs", "show", job.id)
    assert plain.code == 0
    for item in ("last_error", "Attempts", "Traceback: here", "Children", str(child.id)):
        assert item in plain.out
    shown = postino("jobs", "show", job.id, "--json").json
    (attempt,) = shown["history"]
    assert (attempt["number"], attempt["outcome"], attempt["error_class"]) == (1, "failed", "ValueError")
    assert [it["id"] for it in shown["children"]] == [str(child.id)]


def test_control_characters_are_escaped(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.add_settled_job(Reject("\x1b[2Jgone\r\x07"))
    for arguments in (["jobs", "list"], ["jobs", "show", job.id], ["dead", "list"], ["dead", "show", job.id]):
        answer = postino(*arguments)
        assert "\\x1b[2Jgone" in answer.out
        assert not set("\x1b\r\x07") & set(answer.out)


@pytest.mark.parametrize("command", [["jobs", "show"], ["jobs", "cancel"], ["jobs", "replay"], ["dead", "show"]])
def test_invalid_id_is_wrong_use_and_unknown_id_not_found(
    command: list[str], local_queue: LocalQueue, postino: Postino
) -> None:
    wrong = postino(*command, "abc")
    assert (wrong.code, wrong.out) == (2, "")
    assert "id: 'abc' is not the id of a job" in wrong.err
    unknown = postino(*command, uuid4(), "--json")
    assert (unknown.code, unknown.out, unknown.error["type"]) == (3, "", "not_found")


def test_invalid_cursor_queue_state_or_option_is_wrong_use(local_queue: LocalQueue, postino: Postino) -> None:
    for arguments, blamed in (
        (["--before", "x"], "before"),
        (["--queue", "urgent"], "queue"),
        (["--state", "done"], "--state"),
        (["--limit", "0"], "--limit"),
        (["--colour"], "--colour"),
    ):
        answer = postino("jobs", "list", *arguments)
        assert (answer.code, answer.out) == (2, "")
        assert blamed in answer.err
        assert "Traceback" not in answer.err
    assert postino("jobs", "list", "--before", "x", "--json").error["field"] == "before"


def test_cancel_is_final_and_audited(local_queue: LocalQueue, postino: Postino, actor: str) -> None:
    job = local_queue.enqueue()
    answer = postino("jobs", "cancel", job.id, "--reason", "changed my mind")
    assert (answer.code, answer.out) == (0, f"Job {job.id} is cancelled.\n")
    assert local_queue.get(job).state is State.CANCELLED
    assert local_queue.last_audit() == (actor, "job.cancelled", str(job.id), "changed my mind")
    again = postino("jobs", "cancel", job.id)
    assert again.code == 4
    assert "cannot be cancelled" in again.err


def test_failed_job_is_replayed_and_pending_is_not(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.add_settled_job(Reject("no"))
    assert postino("jobs", "replay", job.id).code == 4
    assert postino("jobs", "replay", job.id, "--payload", '{"text":').code == 2
    large = postino("jobs", "replay", job.id, "--payload", f'"{"x" * 1_000_000}"')
    assert (large.code, large.out) == (2, "")
    assert "payload: 1,000,002 bytes is more than 1,000,000" in large.err
    edited = postino("jobs", "replay", job.id, "--payload", '{"text": "other"}', "--json")
    assert (edited.code, edited.json["state"], edited.json["payload"]) == (0, "pending", {"text": "other"})
    assert postino("jobs", "replay", job.id).code == 4


@pytest.mark.parametrize(
    ("word", "state"),
    [
        (["--live", "ig-7"], State.COMPLETED),
        (["--send-again"], State.PENDING),
        (["--give-up"], State.FAILED),
    ],
)
def test_resolve_settles_uncertain_job(
    word: list[str], state: State, local_queue: LocalQueue, postino: Postino, actor: str
) -> None:
    job = local_queue.add_settled_job(Unknown("no answer"))
    answer = postino("jobs", "resolve", job.id, *word, "--reason", "seen with my own eyes")
    assert (answer.code, answer.out) == (0, f"Job {job.id} is resolved and now {state.value}.\n")
    settled = local_queue.get(job)
    assert settled.state is state
    assert settled.remote_id == ("ig-7" if state is State.COMPLETED else None)
    assert local_queue.last_audit() == (actor, "job.resolved", str(job.id), "seen with my own eyes")


def test_resolve_needs_verdict_reason_and_uncertain_job(local_queue: LocalQueue, postino: Postino) -> None:
    job, why = local_queue.add_settled_job(Unknown("no answer")), ("--reason", "seen")
    for wrong in ([], ["--send-again", "--give-up"], ["--live", ""], ["--live", "x", "--send-again"]):
        assert postino("jobs", "resolve", job.id, *wrong, *why).code == 2
    for word in (["--send-again"], ["--give-up"], ["--live", "x"]):
        assert "reason" in postino("jobs", "resolve", job.id, *word).err
        assert postino("jobs", "resolve", job.id, *word, "--reason", " ").code == 2
    assert local_queue.get(job).state is State.UNCERTAIN
    assert postino("jobs", "resolve", local_queue.enqueue().id, "--send-again", *why).code == 4
