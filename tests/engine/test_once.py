"""Visible calls, run by a real worker: every kind of response, and responses that never come."""

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
from tests.engine.conftest import run_worker, wait_for_end
from tests.engine.fake_network import QUICK, FakeNetwork, get_facts, register_publisher, wait_for_person
from tests.engine.test_call import only_sqlite

DOUBTFUL = ("lost", "garbled", "nonsense", "bug", "error", "conflict")
DAY = timedelta(days=1)


# Answers


async def test_accepted_call_is_made_once_and_its_receipt_is_kept(app: Postino) -> None:
    network = FakeNetwork()
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.remote_id, job.may_be_live, job.attempts) == (State.COMPLETED, "id of hello", True, 1)
    (fact,) = (await app.store.ledger(job.id)).receipts
    assert fact.receipt == network.receipt("hello")
    assert network.sends == 1


async def test_receipt_survives_the_failure_of_its_handler(app: Postino) -> None:
    network, got = FakeNetwork(), []

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        got.append(await call.once("post", network.post, payload, found=None, resend=NEVER))
        if job.attempts < 3:
            raise ConnectionError("after it was out")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.sends) == (State.COMPLETED, 3, 1)
    assert got == [network.receipt("hello")] * 3


async def test_replay_after_a_receipt_sends_nothing(app: Postino) -> None:
    network, broken = FakeNetwork(), [True]

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> Outcome:
        receipt = await call.once("post", network.post, payload, found=None, resend=NEVER)
        return Reject("broken") if broken else Done(None, receipt.remote_id)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
        assert job.state is State.FAILED
        broken.clear()
        await app.replay(job.id, force=True)
        assert (await wait_for_end(app, job, State.COMPLETED)).remote_id == "id of hello"
    assert network.sends == 1


@only_sqlite
async def test_definite_refusal_fails_the_job_without_doubt(app: Postino) -> None:
    network = FakeNetwork("refused")
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.last_error) == (State.FAILED, "Too long.")
    assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.PERMANENT
    assert await get_facts(app, job) == [(1, Verdict.REFUSED, ReceiptSource.CALL)]


@only_sqlite
async def test_unsent_call_is_retried(app: Postino) -> None:
    network = FakeNetwork("not sent", "not sent")
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.lookups) == (State.COMPLETED, 3, [])
    assert [number for number, _, _ in await get_facts(app, job)] == [1, 2, 3]


@only_sqlite
async def test_rate_limited_call_waits_for_the_limit(app: Postino) -> None:
    network = FakeNetwork("limited", "limited", "limited", "limited")
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, job.deferrals, network.lookups) == (State.COMPLETED, 1, 4, [])


# Lost answers


@pytest.mark.parametrize(
    ("database_url", "answer"),
    [*(("sqlite", answer) for answer in DOUBTFUL), pytest.param("postgres", "lost", marks=pytest.mark.postgres)],
    indirect=["database_url"],
)
async def test_lost_response_is_looked_up_after_the_quarantine(app: Postino, answer: str) -> None:
    network = FakeNetwork(answer)
    register_publisher(app, network)
    async with run_worker(app):
        job = await app.enqueue("publish", "hello")
        doubtful = await wait_for_end(app, job, State.UNCERTAIN)
        assert (doubtful.run_at, doubtful.may_be_live) == (doubtful.lookup_at, True)
        done = await wait_for_end(app, job)
    (intent,) = (await app.store.ledger(job.id)).intents
    assert (done.state, done.remote_id, network.posts) == (State.COMPLETED, "id of hello", ["hello"])
    assert len(network.lookups) == 1
    assert network.lookups[0] >= intent.lookup_at > intent.send_before_at > intent.intended_at
    assert (network.intents[0].number, network.intents[0].intended_at) == (1, intent.intended_at)
    assert await get_facts(app, job) == [(1, Verdict.ACCEPTED, ReceiptSource.LOOKUP)]


HARMLESS = [SAME_HANDLE, DUPLICATE_RULE, resend_with_key(DAY)]


@only_sqlite
@pytest.mark.parametrize("look", [True, False])
@pytest.mark.parametrize("resend", HARMLESS)
async def test_missing_post_is_resent_where_that_is_harmless(app: Postino, resend: Resend, look: bool) -> None:
    network = FakeNetwork("gone")
    register_publisher(app, network, look=look, resend=resend)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, network.posts, network.sends) == (State.COMPLETED, ["hello"], 2)
    assert len(network.lookups) == look
    assert await get_facts(app, job) == [(2, Verdict.ACCEPTED, ReceiptSource.CALL)]


@only_sqlite
@pytest.mark.parametrize(
    ("lookup_result", "resend"),
    [
        (NotFound(), NEVER),
        (NotFound(), resend_with_key(timedelta(seconds=0.3))),
        (CannotTell("there are two"), NEVER),
        (CannotTell("there are two"), SAME_HANDLE),
        (Failure(FailureKind.TRANSIENT, "busy"), SAME_HANDLE),
        (Failure(FailureKind.PERMANENT, "not allowed"), SAME_HANDLE),
    ],
)
async def test_job_waits_for_a_person_after_the_last_lookup(
    app: Postino, lookup_result: LookupResult | Failure, resend: Resend
) -> None:
    network = FakeNetwork("lost", lookup_result=lookup_result)
    register_publisher(app, network, resend=resend)
    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, network.posts) == (1, ["hello"])
    assert len(network.lookups) == (
        1 if lookup_result == Failure(FailureKind.PERMANENT, "not allowed") else MIN_LOOKUPS - 1
    )
    assert job.last_error is not None


@only_sqlite
async def test_job_waits_for_a_person_at_once_without_a_lookup(app: Postino) -> None:
    network = FakeNetwork("lost")
    register_publisher(app, network, look=False)
    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, job.attempts) == (1, 1)
    assert "No response came" in (job.last_error or "")


@only_sqlite
async def test_network_that_loses_every_response_is_not_called_forever(app: Postino) -> None:
    network = FakeNetwork(*["gone"] * 99)
    register_publisher(app, network, resend=SAME_HANDLE)
    async with run_worker(app):
        await wait_for_person(app, await app.enqueue("publish", "hello"))
    assert network.sends == 3


@only_sqlite
async def test_response_lost_on_the_last_attempt_is_looked_up_too(app: Postino) -> None:
    network = FakeNetwork("lost")
    register_publisher(app, network, max_attempts=1)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.sends) == (State.COMPLETED, 2, 1)


@only_sqlite
async def test_post_of_another_job_needs_a_person(app: Postino) -> None:
    network = FakeNetwork("accepted", "gone", lookup_result=Found(Receipt(remote_id="id of hello")))
    register_publisher(app, network)
    async with run_worker(app):
        first = await wait_for_end(app, await app.enqueue("publish", "hello"))
        second = await wait_for_person(app, await app.enqueue("publish", "other"))
    assert str(first.id) in (second.last_error or "")
    assert await get_facts(app, second) == []


@only_sqlite
async def test_call_lists_remote_ids_of_other_jobs(app: Postino) -> None:
    network = FakeNetwork()
    register_publisher(app, network)
    held: list[set[str]] = []

    @app.handler("ask")
    async def ask(job: Job, payload: str, call: Call) -> None:
        held.append(await call.list_taken_ids(["id of hello", "id of nobody"]))

    async with run_worker(app):
        await wait_for_end(app, await app.enqueue("publish", "hello"))
        await wait_for_end(app, await app.enqueue("ask", "", channel="publish"))
    assert held == [{"id of hello"}]


# A person's word


async def test_thread_continues_after_a_person_confirms_one_part(app: Postino) -> None:
    network = FakeNetwork("accepted", "lost")

    @app.handler("thread")
    async def thread(job: Job, payload: list[str], call: Call) -> Outcome:
        network_call, last = call.with_policy(QUICK), ""
        for number, text in enumerate(payload):
            receipt = await network_call.once(f"part {number}", network.post, text, found=None, resend=NEVER)
            last = receipt.remote_id
        return Done(None, last)

    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("thread", ["one", "two", "three"]))
        await app.resolve(job.id, Done(remote_id="seen by maria"), reason="I saw it")
        done = await wait_for_end(app, job)
    assert (done.state, done.remote_id) == (State.COMPLETED, "id of three")
    assert network.posts == ["one", "two", "three"]
    assert [fact.receipt.remote_id for fact in (await app.store.ledger(job.id)).receipts if fact.receipt] == [
        "id of one", "seen by maria", "id of three",
    ]  # fmt: skip


@only_sqlite
async def test_resent_call_with_a_lost_response_is_looked_up_again(app: Postino) -> None:
    network = FakeNetwork("gone", "lost")
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("publish", "hello"))
        looks = len(network.lookups)
        await app.resolve(job.id, Retry("again"), reason="it is not there")
        done = await wait_for_end(app, job)
    assert (done.state, network.sends, network.posts) == (State.COMPLETED, 2, ["hello"])
    assert len(network.lookups) == looks + 1


@only_sqlite
async def test_replayed_uncertain_job_is_looked_up_before_sending(app: Postino) -> None:
    network = FakeNetwork("lost", lookup_result=CannotTell("not now"))
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("publish", "hello"))
        await app.resolve(job.id, Reject("nobody knows"), reason="enough")
        network.lookup_result = None
        await app.replay(job.id, force=True)
        assert (await wait_for_end(app, job, State.COMPLETED)).remote_id == "id of hello"
    assert network.sends == 1
