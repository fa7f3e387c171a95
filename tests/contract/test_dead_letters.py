"""Dead letters: all that is needed to understand a failure, replay and discard."""

from __future__ import annotations

import pytest

from postino.errors import Conflict, NotFound
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import DeadLetterCause, make_failure
from postino.stores.records import AttemptError, AuditContext, DeadLetterFilter, JobFilter
from postino.values.event import EventType
from postino.values.job import Queue, State, new_id
from postino.values.outcome import Done, Reject, Retry, Unknown
from tests.contract.harness import ME, POISON, StoreHarness, ids, new

TWICE = RetryPolicy(max_attempts=2)


async def test_a_dead_letter_has_everything_about_its_job_and_all_attempts(harness: StoreHarness) -> None:
    fields = {
        "type": "export", "channel": "exports", "queue": Queue.HIGH, "payload": POISON, "key": "k", "account": "acme",
        "brand": "shoes", "user_id": "u7", "correlation_id": "c9", "parent_id": new_id(), "max_attempts": 2,
        "backoff": "[60]", "time_limit": 3.5,
    }  # fmt: skip
    job = await harness.put(**fields)
    first_at = harness.clock.turn(seconds=1)
    claimed = await harness.take_one()
    first_end_at = harness.clock.turn(seconds=1)
    assert await harness.end(claimed, Retry("busy"), AttemptError("TimeoutError", "slow", "trace one"), policy=TWICE)
    second_at = harness.clock.turn(minutes=5)
    claimed = await harness.take_one()
    died_at = harness.clock.turn(seconds=1)
    assert await harness.end(claimed, Retry("still busy"), AttemptError("ValueError", "odd", "trace two"), policy=TWICE)

    letter = await harness.store.dead_letter(job.id)
    for name, value in fields.items():
        assert getattr(letter.job, "idempotency_key" if name == "key" else name) == value, name
    assert (letter.cause, letter.error, letter.trace) == (DeadLetterCause.EXHAUSTED, "still busy", "trace two")
    assert (letter.died_at, letter.job.finished_at, letter.job.created_at) == (died_at, died_at, job.created_at)
    assert (letter.job.state, letter.job.attempts) == (State.FAILED, 2)
    assert [(line.number, line.started_at, line.ended_at) for line in letter.history] == [
        (1, first_at, first_end_at), (2, second_at, died_at),
    ]  # fmt: skip
    assert [(line.worker, line.outcome, line.error_class, line.message, line.trace) for line in letter.history] == [
        ("w1", "retrying", "TimeoutError", "slow", "trace one"), ("w1", "failed", "ValueError", "odd", "trace two"),
    ]  # fmt: skip
    assert list(letter.history) == await harness.store.attempts(job.id)
    assert (letter.resolved_at, letter.resolution) == (None, None)


@pytest.mark.parametrize("cause", list(DeadLetterCause))
async def test_every_cause_is_kept(harness: StoreHarness, cause: DeadLetterCause) -> None:
    job = await harness.put()
    assert await harness.settle(await harness.take_one(), make_failure("why", cause))
    assert (await harness.store.dead_letter(job.id)).cause is cause
    assert len(await harness.store.dead_letters(DeadLetterFilter(cause=cause))) == 1


async def test_payload_survives_dead_letter_and_replay_byte_for_byte(harness: StoreHarness) -> None:
    every_byte = bytes(range(256)) + POISON
    job = await harness.put(payload=every_byte, key="k")
    claimed = await harness.take_one()
    assert claimed.payload == every_byte
    assert await harness.settle(claimed, make_failure("unreadable", DeadLetterCause.POISON))
    assert (await harness.store.job(job.id)).payload == every_byte
    assert (await harness.store.dead_letter(job.id)).job.payload == every_byte
    assert (await harness.store.replay_dead_letter(job.id, None, True, ME)).payload == every_byte
    assert (await harness.take_one()).payload == every_byte
    (known,) = await harness.store.enqueue([new(key="k")])
    assert known.job.payload == every_byte


async def test_a_replayed_job_keeps_key_and_history_and_starts_afresh(harness: StoreHarness) -> None:
    ended = await harness.run(Retry("busy"), key="k", account="acme", user_id="u")
    harness.clock.turn(minutes=5)
    assert await harness.end(await harness.take_one(), Retry("busy"), policy=TWICE)
    replayed_at = harness.clock.turn(hours=1)
    job = await harness.store.replay_dead_letter(ended.id, None, False, ME)
    assert (job.id, job.idempotency_key, job.state) == (ended.id, "k", State.PENDING)
    assert (job.generation, job.attempts, job.run_at, job.finished_at) == (2, 0, replayed_at, None)
    assert (job.user_id, job.created_at, job.scheduled_at) == ("u", ended.created_at, ended.scheduled_at)
    (known,) = await harness.store.enqueue([new(key="k")])
    assert (known.created, known.job) == (False, job)
    assert await harness.end(await harness.take_one(), Done())
    assert [(line.generation, line.number, line.outcome) for line in await harness.store.attempts(job.id)] == [
        (1, 1, "retrying"), (1, 2, "failed"), (2, 1, "completed"),
    ]  # fmt: skip
    assert (await harness.store.job(job.id)).state is State.COMPLETED


async def test_job_that_fails_after_a_replay_has_one_open_letter_with_full_history(
    harness: StoreHarness,
) -> None:
    job = await harness.run(Reject("first"))
    harness.clock.turn(minutes=1)
    await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert await harness.end(await harness.take_one(), Reject("second"))
    (letter,) = await harness.store.dead_letters(DeadLetterFilter())
    assert (letter.job.generation, letter.error) == (2, "second")
    assert [line.generation for line in letter.history] == [1, 2]
    assert len(await harness.store.dead_letters(DeadLetterFilter(resolved=True))) == 2
    assert [list_letters.id for list_letters in await harness.store.jobs(JobFilter())] == [job.id]


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [(DeadLetterCause.PERMANENT, "or it fails again"), (DeadLetterCause.POISON, "cannot be read")],
)
async def test_permanent_failure_is_replayed_only_edited_or_forced(
    harness: StoreHarness, cause: DeadLetterCause, sentence: str
) -> None:
    first, second = await harness.put_many(2)
    for claimed in await harness.take():
        assert await harness.settle(claimed, make_failure("why", cause))
    with pytest.raises(Conflict, match=sentence):
        await harness.store.replay_dead_letter(first.id, None, False, ME)
    assert await harness.state(first) is State.FAILED
    assert len(await harness.store.dead_letters(DeadLetterFilter())) == 2
    assert (await harness.store.replay_dead_letter(first.id, b"better", False, ME)).payload == b"better"
    assert (await harness.store.replay_dead_letter(second.id, None, True, ME)).payload == second.payload
    assert ids(await harness.take()) == {first.id, second.id}


@pytest.mark.parametrize("cause", [DeadLetterCause.EXHAUSTED, DeadLetterCause.WORKER_KILLER])
async def test_transient_failure_is_replayed_unchanged(harness: StoreHarness, cause: DeadLetterCause) -> None:
    job = await harness.put()
    assert await harness.settle(await harness.take_one(), make_failure("why", cause))
    assert (await harness.store.replay_dead_letter(job.id, None, False, ME)).state is State.PENDING


async def test_replay_writes_event_and_audit_entry_and_resolves_the_letter(harness: StoreHarness) -> None:
    job = await harness.run(Reject("no"))
    replayed_at = harness.clock.turn(minutes=1)
    await harness.store.replay_dead_letter(job.id, None, True, AuditContext("maria", "fixed it"))
    assert (await harness.list_event_types(job.id))[-1] == EventType.REPLAYED
    line = (await harness.store.audit())[0]
    assert (line.actor, line.action, line.subject, line.reason) == ("maria", "job.replayed", str(job.id), "fixed it")
    letter = await harness.store.dead_letter(job.id)
    assert (letter.resolved_at, letter.resolution) == (replayed_at, "replayed")
    assert await harness.store.dead_letters(DeadLetterFilter()) == []


async def test_a_letter_is_replayed_once_only(harness: StoreHarness) -> None:
    job = await harness.run(Reject("no"))
    await harness.store.replay_dead_letter(job.id, None, True, ME)
    with pytest.raises(Conflict, match="it is waiting and has not failed"):
        await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert len(await harness.take()) == 1


async def test_a_job_whose_remote_id_is_known_is_not_sent_again_by_a_replay(harness: StoreHarness) -> None:
    job = await harness.put()
    claimed = await harness.take_one()
    harness.database.sql(f"UPDATE {{jobs}} SET remote_id = 'remote-1' WHERE id = '{job.id}'")
    assert await harness.end(claimed, Reject("failed after it was out"))
    existing = await harness.store.replay_dead_letter(job.id, None, True, ME)
    assert (existing.state, existing.remote_id) == (State.FAILED, "remote-1")
    assert await harness.take() == []


async def test_a_discarded_letter_is_resolved_and_its_job_stays_failed(harness: StoreHarness) -> None:
    job = await harness.run(Reject("no"))
    discarded_at = harness.clock.turn(minutes=1)
    letter = await harness.store.discard_dead_letter(job.id, ME)
    assert (letter.resolved_at, letter.resolution) == (discarded_at, "discarded")
    assert await harness.store.dead_letters(DeadLetterFilter()) == []
    assert [
        list_letters.job.id for list_letters in await harness.store.dead_letters(DeadLetterFilter(resolved=True))
    ] == [job.id]
    assert await harness.state(job) is State.FAILED
    assert (await harness.store.audit())[0].action == "dead_letter.discarded"
    for again in (
        harness.store.discard_dead_letter(job.id, ME),
        harness.store.replay_dead_letter(job.id, None, True, ME),
    ):
        with pytest.raises(Conflict):
            await again


async def test_job_that_did_not_fail_has_no_letter_to_replay_or_discard(harness: StoreHarness) -> None:
    job = await harness.run(Done())
    with pytest.raises(Conflict, match="cannot be replayed: it is completed, and that is final"):
        await harness.store.replay_dead_letter(job.id, None, True, ME)
    with pytest.raises(Conflict, match="cannot be discarded: it is completed"):
        await harness.store.discard_dead_letter(job.id, ME)
    with pytest.raises(NotFound, match="has no dead letter"):
        await harness.store.dead_letter(job.id)
    with pytest.raises(NotFound, match="There is no job"):
        await harness.store.replay_dead_letter(new_id(), None, True, ME)


async def test_letters_are_listed_by_type_channel_cause_and_page(harness: StoreHarness) -> None:
    for channel, kind in (("a", "x"), ("a", "y"), ("b", "x")):
        await harness.run(Reject("no"), channel=channel, type=kind)
    await harness.run(Unknown("?"))

    async def list_letters(wanted: DeadLetterFilter) -> list[tuple[str, str]]:
        return sorted((letter.job.channel, letter.job.type) for letter in await harness.store.dead_letters(wanted))

    assert await list_letters(DeadLetterFilter(channel="a")) == [("a", "x"), ("a", "y")]
    assert await list_letters(DeadLetterFilter(type="x")) == [("a", "x"), ("b", "x")]
    assert await list_letters(DeadLetterFilter(cause=DeadLetterCause.EXHAUSTED)) == []
    everything = await harness.store.dead_letters(DeadLetterFilter())
    assert len(everything) == 3
    (first,) = await harness.store.dead_letters(DeadLetterFilter(limit=1))
    rest = await harness.store.dead_letters(DeadLetterFilter(before=first.job.id))
    assert [first, *rest] == list(everything)
