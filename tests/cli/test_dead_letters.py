"""`postino dead`."""

from __future__ import annotations

from uuid import uuid4

from postino import Reject, Retry, State, Unknown
from postino.cli.connection import Target
from postino.cli.dead_letters import suggest_resolve
from postino.stores.records import AttemptError
from postino.values.post import POST
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue


def test_list_has_dead_letters_and_uncertain_jobs(local_queue: LocalQueue, postino: Postino) -> None:
    dead, unsure = local_queue.add_settled_job(Reject("no")), local_queue.add_settled_job(Unknown("no answer"))
    answer = postino("dead", "list")
    assert [row.split()[:2] for row in answer.rows[1:]] == [[str(dead.id), "permanent"], [str(unsure.id), "uncertain"]]
    shown = postino("dead", "list", "--json").json
    assert [(it["id"], it["cause"]) for it in shown["data"]] == [(str(dead.id), "permanent")]
    assert [it["id"] for it in shown["uncertain"]] == [str(unsure.id)]
    assert shown["next_cursor"] is None


def test_uncertain_jobs_suggest_their_resolve_command() -> None:
    post, job = {"type": POST}, {"type": "letter"}
    posts, jobs = suggest_resolve([post, post], Target()), suggest_resolve([job], Target())
    assert posts.endswith("posts resolve ID --reason WHY --live REMOTE_ID | --send-again | --give-up`")
    assert jobs.endswith("jobs resolve ID --reason WHY --live REMOTE_ID | --send-again | --give-up`")
    assert suggest_resolve([job, post], Target()) == f"{posts} or {jobs}"


def test_list_is_filtered_and_paged(local_queue: LocalQueue, postino: Postino) -> None:
    exhausted = local_queue.add_settled_job(Retry("busy"), channel="x")
    local_queue.add_settled_job(Reject("no"), channel="y")
    for option in (("--cause", "exhausted"), ("--channel", "x")):
        assert [it["id"] for it in postino("dead", "list", "--json", *option).json["data"]] == [str(exhausted.id)]
    first = postino("dead", "list", "--json", "--limit", 1).json
    second = postino("dead", "list", "--json", "--limit", 1, "--before", first["next_cursor"]).json
    assert [it["id"] for it in second["data"]] == [str(exhausted.id)]
    assert second["next_cursor"] is None


def test_dead_letter_shows_cause_payload_and_trace(local_queue: LocalQueue, postino: Postino) -> None:
    failure = AttemptError("OSError", "gone", "Traceback: there\n")
    job = local_queue.add_settled_job(Retry("gone"), failure, user_id="u1", correlation_id="c1")
    plain = postino("dead", "show", job.id)
    for item in ("exhausted", "ciao", "gone", "Traceback: there", "u1", "c1"):
        assert item in plain.out
    shown = postino("dead", "show", job.id, "--json").json
    assert (shown["cause"], shown["trace"], shown["job"]["user_id"]) == ("exhausted", "Traceback: there\n", "u1")
    assert [it["number"] for it in shown["history"]] == [1]


def test_permanent_failure_needs_force_or_new_payload(local_queue: LocalQueue, postino: Postino) -> None:
    job, other = local_queue.add_settled_job(Reject("no")), local_queue.add_settled_job(Reject("no"))
    refused = postino("dead", "replay", job.id)
    assert refused.code == 4
    assert "Edit it with --payload JSON, or pass --force" in refused.err
    assert "--payload JSON, or pass --force" in postino("jobs", "replay", job.id).err
    assert "--payload JSON, or pass --force" in postino("dead", "replay", "--all").out
    assert postino("dead", "replay", job.id, "--force").code == 0
    assert postino("dead", "replay", other.id, "--payload", '{"text": "shorter"}').code == 0
    assert local_queue.get(other).payload == b'{"text":"shorter"}'


def test_one_failed_replay_does_not_stop_the_others(local_queue: LocalQueue, postino: Postino) -> None:
    fine, refused, unknown = (
        local_queue.add_settled_job(Retry("busy")),
        local_queue.add_settled_job(Reject("no")),
        uuid4(),
    )
    answer = postino("dead", "replay", refused.id, unknown, fine.id, "--json")
    assert answer.code == 1
    assert [it["done"] for it in answer.json["data"]] == [False, False, True]
    assert [it.get("status") for it in answer.json["data"]] == [409, 404, None]
    assert local_queue.get(fine).state is State.PENDING


def test_replay_by_cause_type_channel_or_all(local_queue: LocalQueue, postino: Postino) -> None:
    jobs = [local_queue.add_settled_job(Retry("busy"), channel=channel) for channel in ("x", "x", "y")]
    local_queue.add_settled_job(Reject("no"))
    for option, expected in ((["--channel", "x"], 2), (["--cause", "exhausted"], 1)):
        answer = postino("dead", "replay", *option)
        assert answer.code == 0
        assert [row.split()[1] for row in answer.rows[1:]] == ["replayed"] * expected
    assert {local_queue.get(job).state for job in jobs} == {State.PENDING}
    left = postino("dead", "replay", "--all", "--json")
    assert (left.code, [it["done"] for it in left.json["data"]]) == (4, [False])
    assert postino("dead", "replay", "--type", "none.such", "--json").json["data"] == []
    none = postino("dead", "replay", "--type", "none.such")
    assert (none.code, none.out, none.err) == (0, "", "No dead letters match: nothing was done.\n")


def test_replay_needs_ids_or_filters(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.add_settled_job(Reject("no"))
    for wrong in ([], [job.id, "--all"], ["--all", "--payload", "{}"], [job.id, job.id, "--payload", "{}"]):
        assert postino("dead", "replay", *wrong).code == 2


def test_discard_needs_reason_and_keeps_record(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.add_settled_job(Reject("no"))
    assert postino("dead", "discard", job.id).code == 2
    assert postino("dead", "discard", job.id, "--reason", " ").code == 2
    assert postino("dead", "discard", job.id, "--reason", "a test post").code == 0
    assert local_queue.last_audit()[1:] == ("dead_letter.discarded", str(job.id), "a test post")
    assert postino("dead", "list", "--json").json["data"] == []
    assert [it["id"] for it in postino("dead", "list", "--resolved", "--json").json["data"]] == [str(job.id)]
    assert postino("dead", "discard", job.id, "--reason", "again").code == 4
