"""`postino jobs`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from postino import Done, Reject, State, Unknown
from postino.stores.records import AttemptError
from tests.cli.command_line import Desk
from tests.cli.conftest import Postino


def test_a_list_in_a_pipe_has_one_aligned_row_per_job_and_no_colours(desk: Desk, postino: Postino) -> None:
    failed = desk.settled(Reject("two\nlines, and " + "long " * 100), account="a@example.org")
    desk.enqueue("a.very.long.type.of.job")
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


def test_an_empty_list_in_a_pipe_is_only_the_header(desk: Desk, postino: Postino) -> None:
    assert len(postino("jobs", "list").rows) == 1
    assert postino("jobs", "list", "--json").json == {"data": [], "next_cursor": None}


def test_paging_goes_through_all_jobs_once(desk: Desk, postino: Postino) -> None:
    jobs = desk.perform(lambda app: app.enqueue_many([("post", number) for number in range(5)]))
    seen: list[str] = []
    arguments: list[str] = []
    for expected in (2, 2, 1):
        page = postino("jobs", "list", "--json", "--limit", 2, *arguments).json
        assert len(page["data"]) == expected
        seen += [job["id"] for job in page["data"]]
        arguments = ["--before", page["next_cursor"]]
    assert page["next_cursor"] is None
    assert seen == sorted((str(job.id) for job in jobs), reverse=True)
    assert f"--before {seen[1]}" in postino("jobs", "list", "--limit", 2).err


def test_no_cursor_where_the_last_page_is_just_full(desk: Desk, postino: Postino) -> None:
    desk.perform(lambda app: app.enqueue_many([("post", number) for number in range(2)]))
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
def test_a_list_can_be_narrowed(option: tuple[str, str], desk: Desk, postino: Postino) -> None:
    desk.settled(Done())
    desk.enqueue("wanted")
    desk.enqueue("other", channel="instagram", account="a1", brand="b1", queue="high")
    assert len(postino("jobs", "list", "--json", *option).json["data"]) == 1


def test_a_job_as_json_has_every_field_and_its_payload_parsed(desk: Desk, postino: Postino) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    job = desk.enqueue(payload={"text": "però"}, account="a1", queue="low", at=at)
    shown = postino("jobs", "show", job.id, "--json").json
    assert {*job.__slots__, "history", "children"} - {"token"} == shown.keys()
    assert shown["payload"] == {"text": "però"}
    assert (shown["state"], shown["queue"], shown["history"], shown["children"]) == ("pending", "low", [], [])
    assert datetime.fromisoformat(shown["run_at"]) == job.run_at


@pytest.mark.parametrize(
    ("payload", "shown"),
    [(b"\xff\x00", {"base64": "/wA="}), (b"NaN", {"base64": "TmFO"}), (b"[" * 100_000, None), (b"7", 7), (b'"x"', "x")],
)
def test_a_payload_that_is_no_json_is_shown_byte_for_byte(
    payload: bytes, shown: object, desk: Desk, postino: Postino
) -> None:
    answer = postino("jobs", "show", desk.enqueue(payload=payload).id, "--json").json["payload"]
    assert answer == shown if shown is not None else list(answer) == ["base64"]


def test_a_shown_job_tells_its_attempts_errors_and_children(desk: Desk, postino: Postino) -> None:
    job = desk.settled(Reject("no"), AttemptError("ValueError", "no", "Traceback: here\n"))
    child = desk.enqueue("comment", parent=job.id)
    plain = postino("jobs", "show", job.id)
    assert plain.code == 0
    for told in ("last_error", "Attempts", "Traceback: here", "Children", str(child.id)):
        assert told in plain.out
    shown = postino("jobs", "show", job.id, "--json").json
    (attempt,) = shown["history"]
    assert (attempt["number"], attempt["outcome"], attempt["error_class"]) == (1, "failed", "ValueError")
    assert [it["id"] for it in shown["children"]] == [str(child.id)]


def test_what_a_terminal_would_obey_is_only_shown(desk: Desk, postino: Postino) -> None:
    job = desk.settled(Reject("\x1b[2Jgone\r\x07"))
    for arguments in (["jobs", "list"], ["jobs", "show", job.id], ["dead", "list"], ["dead", "show", job.id]):
        answer = postino(*arguments)
        assert "\\x1b[2Jgone" in answer.out
        assert not set("\x1b\r\x07") & set(answer.out)


@pytest.mark.parametrize("command", [["jobs", "show"], ["jobs", "cancel"], ["jobs", "replay"], ["dead", "show"]])
def test_an_id_that_is_none_is_wrong_use_and_an_unknown_one_is_not_found(
    command: list[str], desk: Desk, postino: Postino
) -> None:
    wrong = postino(*command, "abc")
    assert (wrong.code, wrong.out) == (2, "")
    assert "id: 'abc' is not the id of a job" in wrong.err
    unknown = postino(*command, uuid4(), "--json")
    assert (unknown.code, unknown.out, unknown.refusal["type"]) == (3, "", "not_found")


def test_a_wrong_cursor_queue_state_or_option_is_wrong_use(desk: Desk, postino: Postino) -> None:
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
    assert postino("jobs", "list", "--before", "x", "--json").refusal["field"] == "before"


def test_a_cancelled_job_is_final_and_the_audit_trail_says_who_and_why(
    desk: Desk, postino: Postino, actor: str
) -> None:
    job = desk.enqueue()
    answer = postino("jobs", "cancel", job.id, "--reason", "changed my mind")
    assert (answer.code, answer.out) == (0, f"Job {job.id} is cancelled.\n")
    assert desk.get(job).state is State.CANCELLED
    assert desk.last_audit() == (actor, "job.cancelled", str(job.id), "changed my mind")
    again = postino("jobs", "cancel", job.id)
    assert again.code == 4
    assert "cannot be cancelled" in again.err


def test_a_failed_job_is_replayed_and_a_waiting_one_is_not(desk: Desk, postino: Postino) -> None:
    job = desk.settled(Reject("no"))
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
        (["--again"], State.PENDING),
        (["--give-up"], State.FAILED),
    ],
)
def test_a_person_says_what_happened_to_an_uncertain_job(
    word: list[str], state: State, desk: Desk, postino: Postino, actor: str
) -> None:
    job = desk.settled(Unknown("no answer"))
    answer = postino("jobs", "resolve", job.id, *word, "--reason", "seen with my own eyes")
    assert (answer.code, answer.out) == (0, f"Job {job.id} is resolved and now {state.value}.\n")
    settled = desk.get(job)
    assert settled.state is state
    assert settled.remote_id == ("ig-7" if state is State.COMPLETED else None)
    assert desk.last_audit() == (actor, "job.resolved", str(job.id), "seen with my own eyes")


def test_resolving_needs_one_word_a_reason_and_an_uncertain_job(desk: Desk, postino: Postino) -> None:
    job, why = desk.settled(Unknown("no answer")), ("--reason", "seen")
    for wrong in ([], ["--again", "--give-up"], ["--live", ""], ["--live", "x", "--again"]):
        assert postino("jobs", "resolve", job.id, *wrong, *why).code == 2
    for word in (["--again"], ["--give-up"], ["--live", "x"]):
        assert "reason" in postino("jobs", "resolve", job.id, *word).err
        assert postino("jobs", "resolve", job.id, *word, "--reason", " ").code == 2
    assert desk.get(job).state is State.UNCERTAIN
    assert postino("jobs", "resolve", desk.enqueue().id, "--again", *why).code == 4
