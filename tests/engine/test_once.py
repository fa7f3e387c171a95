"""Visible calls, run by a real worker: what becomes of each answer, and what is done about those that never came."""

from datetime import timedelta

import pytest

from postino import Call, Done, Job, Outcome, Postino, Reject, Retry, State
from postino.rules.settlement import MIN_LOOKUPS, DeadLetterCause
from postino.values.ledger import ReceiptSource, Verdict
from postino.values.provider import (
    DUPLICATE_RULE,
    NEVER,
    SAME_HANDLE,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    LookupResult,
    NotFound,
    Receipt,
    Resend,
    resend_with_key,
)
from tests.engine.conftest import ended, working
from tests.engine.network import QUICK, Network, facts_of, publishes, waiting_for_a_person
from tests.engine.test_call import only_sqlite

DOUBTFUL = ("lost", "garbled", "nonsense", "bug", "error", "conflict")
DAY = timedelta(days=1)


# Answers


async def test_what_is_accepted_is_done_once_and_its_receipt_is_kept(app: Postino) -> None:
    network = Network()
    publishes(app, network)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.remote_id, job.may_be_live, job.attempts) == (State.COMPLETED, "id of hello", True, 1)
    (fact,) = (await app.store.ledger(job.id)).receipts
    assert fact.receipt == network.receipt("hello")
    assert network.sends == 1


async def test_a_receipt_outlives_the_failure_of_its_handler(app: Postino) -> None:
    network, got = Network(), []

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        got.append(await call.once("post", network.post, payload, found=None, resend=NEVER))
        if job.attempts < 3:
            raise ConnectionError("after it was out")

    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.sends) == (State.COMPLETED, 3, 1)
    assert got == [network.receipt("hello")] * 3


async def test_a_handler_that_fails_for_ever_after_its_receipt_can_be_replayed_without_sending(app: Postino) -> None:
    network, broken = Network(), [True]

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> Outcome:
        receipt = await call.once("post", network.post, payload, found=None, resend=NEVER)
        return Reject("broken") if broken else Done(None, receipt.remote_id)

    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
        assert job.state is State.FAILED
        broken.clear()
        await app.replay(job.id, force=True)
        assert (await ended(app, job, State.COMPLETED)).remote_id == "id of hello"
    assert network.sends == 1


@only_sqlite
async def test_a_certain_refusal_fails_the_job_and_leaves_no_doubt(app: Postino) -> None:
    network = Network("refused")
    publishes(app, network)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.last_error) == (State.FAILED, "Too long.")
    assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.PERMANENT
    assert await facts_of(app, job) == [(1, Verdict.REFUSED, ReceiptSource.CALL)]


@only_sqlite
async def test_what_did_not_leave_is_simply_tried_again(app: Postino) -> None:
    network = Network("not sent", "not sent")
    publishes(app, network)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.looks) == (State.COMPLETED, 3, [])
    assert [number for number, _, _ in await facts_of(app, job)] == [1, 2, 3]


@only_sqlite
async def test_a_limit_met_by_a_visible_call_is_waited_for(app: Postino) -> None:
    network = Network("limited", "limited", "limited", "limited")
    publishes(app, network)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, job.deferrals, network.looks) == (State.COMPLETED, 1, 4, [])


# Lost answers


@pytest.mark.parametrize(
    ("database_url", "answer"),
    [*(("sqlite", answer) for answer in DOUBTFUL), pytest.param("postgres", "lost", marks=pytest.mark.postgres)],
    indirect=["database_url"],
)
async def test_an_answer_that_is_none_is_looked_into_after_the_quarantine(app: Postino, answer: str) -> None:
    network = Network(answer)
    publishes(app, network)
    async with working(app):
        job = await app.enqueue("publish", "hello")
        doubtful = await ended(app, job, State.UNCERTAIN)
        assert (doubtful.run_at, doubtful.may_be_live) == (doubtful.lookup_at, True)
        done = await ended(app, job)
    (intent,) = (await app.store.ledger(job.id)).intents
    assert (done.state, done.remote_id, network.posts) == (State.COMPLETED, "id of hello", ["hello"])
    assert len(network.looks) == 1
    assert network.looks[0] >= intent.lookup_at > intent.send_before_at > intent.intended_at
    assert (network.intents[0].number, network.intents[0].intended_at) == (1, intent.intended_at)
    assert await facts_of(app, job) == [(1, Verdict.ACCEPTED, ReceiptSource.LOOKUP)]


HARMLESS = [SAME_HANDLE, DUPLICATE_RULE, resend_with_key(DAY)]


@only_sqlite
@pytest.mark.parametrize("look", [True, False])
@pytest.mark.parametrize("resend", HARMLESS)
async def test_what_is_not_found_is_sent_again_where_that_is_harmless(app: Postino, resend: Resend, look: bool) -> None:
    network = Network("gone")
    publishes(app, network, look=look, resend=resend)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, network.posts, network.sends) == (State.COMPLETED, ["hello"], 2)
    assert len(network.looks) == look
    assert await facts_of(app, job) == [(2, Verdict.ACCEPTED, ReceiptSource.CALL)]


@only_sqlite
@pytest.mark.parametrize(
    ("seen", "resend"),
    [
        (NotFound(), NEVER),
        (NotFound(), resend_with_key(timedelta(seconds=0.3))),
        (CannotTell("there are two"), NEVER),
        (CannotTell("there are two"), SAME_HANDLE),
        (Failure(FailureKind.TRANSIENT, "busy"), SAME_HANDLE),
        (Failure(FailureKind.PERMANENT, "not allowed"), SAME_HANDLE),
    ],
)
async def test_otherwise_a_person_is_asked_once_the_looks_are_used_up(
    app: Postino, seen: LookupResult | Failure, resend: Resend
) -> None:
    network = Network("lost", seen=seen)
    publishes(app, network, resend=resend)
    async with working(app):
        job = await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, network.posts) == (1, ["hello"])
    assert len(network.looks) == (1 if seen == Failure(FailureKind.PERMANENT, "not allowed") else MIN_LOOKUPS - 1)
    assert job.last_error is not None


@only_sqlite
async def test_where_nobody_can_look_and_nothing_is_harmless_a_person_is_asked_at_once(app: Postino) -> None:
    network = Network("lost")
    publishes(app, network, look=False)
    async with working(app):
        job = await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, job.attempts) == (1, 1)
    assert "No answer" in (job.last_error or "")


@only_sqlite
async def test_a_network_that_loses_every_answer_is_not_asked_for_ever(app: Postino) -> None:
    network = Network(*["gone"] * 99)
    publishes(app, network, resend=SAME_HANDLE)
    async with working(app):
        await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
    assert network.sends == 3


@only_sqlite
async def test_an_answer_lost_on_the_last_attempt_is_looked_into_too(app: Postino) -> None:
    network = Network("lost")
    publishes(app, network, max_attempts=1)
    async with working(app):
        job = await ended(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.sends) == (State.COMPLETED, 2, 1)


@only_sqlite
async def test_what_is_found_but_belongs_to_another_job_is_left_to_a_person(app: Postino) -> None:
    network = Network("accepted", "gone", seen=Found(Receipt(remote_id="id of hello")))
    publishes(app, network)
    async with working(app):
        first = await ended(app, await app.enqueue("publish", "hello"))
        second = await waiting_for_a_person(app, await app.enqueue("publish", "other"))
    assert str(first.id) in (second.last_error or "")
    assert await facts_of(app, second) == []


@only_sqlite
async def test_what_others_hold_can_be_asked_for(app: Postino) -> None:
    network = Network()
    publishes(app, network)
    held: list[set[str]] = []

    @app.handler("ask")
    async def ask(job: Job, payload: str, call: Call) -> None:
        held.append(await call.list_taken_ids(["id of hello", "id of nobody"]))

    async with working(app):
        await ended(app, await app.enqueue("publish", "hello"))
        await ended(app, await app.enqueue("ask", "", channel="publish"))
    assert held == [{"id of hello"}]


# A person's word


async def test_a_thread_goes_on_after_a_person_said_that_one_part_is_live(app: Postino) -> None:
    network = Network("accepted", "lost")

    @app.handler("thread")
    async def thread(job: Job, payload: list[str], call: Call) -> Outcome:
        network_call, last = call.with_policy(QUICK), ""
        for number, text in enumerate(payload):
            receipt = await network_call.once(f"part {number}", network.post, text, found=None, resend=NEVER)
            last = receipt.remote_id
        return Done(None, last)

    async with working(app):
        job = await waiting_for_a_person(app, await app.enqueue("thread", ["one", "two", "three"]))
        await app.resolve(job.id, Done(remote_id="seen by maria"), reason="I saw it")
        done = await ended(app, job)
    assert (done.state, done.remote_id) == (State.COMPLETED, "id of three")
    assert network.posts == ["one", "two", "three"]
    assert [fact.receipt.remote_id for fact in (await app.store.ledger(job.id)).receipts if fact.receipt] == [
        "id of one", "seen by maria", "id of three",
    ]  # fmt: skip


@only_sqlite
async def test_send_again_sends_again_and_its_lost_answer_is_looked_into_again(app: Postino) -> None:
    network = Network("gone", "lost")
    publishes(app, network)
    async with working(app):
        job = await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
        looks = len(network.looks)
        await app.resolve(job.id, Retry("again"), reason="it is not there")
        done = await ended(app, job)
    assert (done.state, network.sends, network.posts) == (State.COMPLETED, 2, ["hello"])
    assert len(network.looks) == looks + 1


@only_sqlite
async def test_what_was_given_up_and_replayed_is_looked_for_and_not_sent(app: Postino) -> None:
    network = Network("lost", seen=CannotTell("not now"))
    publishes(app, network)
    async with working(app):
        job = await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
        await app.resolve(job.id, Reject("nobody knows"), reason="enough")
        network.seen = None
        await app.replay(job.id, force=True)
        assert (await ended(app, job, State.COMPLETED)).remote_id == "id of hello"
    assert network.sends == 1
