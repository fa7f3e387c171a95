"""Visible calls, run by a real worker: every kind of response, and responses that never come."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest

from postino import Call, Done, Job, Outcome, Postino, Reject, Retry, State
from postino.engine import call
from postino.rules.settlement import MIN_ATTEMPTS_BEFORE_ASKING, DeadLetterCause
from postino.values.ledger import ReceiptSource, Verdict
from postino.values.provider import (
    DUPLICATE_RULE,
    NEVER,
    SAME_HANDLE,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    Http,
    LookupResult,
    LostResponse,
    NotFound,
    Receipt,
    Resend,
    resend_with_key,
)
from tests.engine.conftest import run_worker, wait_for_end
from tests.engine.fake_network import (
    QUICK,
    FakeNetwork,
    get_facts,
    register_publisher,
    wait_for_person,
    wait_until_parked,
)
from tests.engine.test_call import only_sqlite
from tests.outbound.raw_server import RawServer, Visit, polite

DOUBTFUL = ("lost", "garbled", "nonsense", "bug", "error", "conflict", "blank id", "long id")
DAY = timedelta(days=1)


# Answers


async def test_accepted_call_is_made_once_and_its_receipt_is_kept(app: Postino) -> None:
    network = FakeNetwork()
    register_publisher(app, network)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.remote_id, job.may_be_live, job.attempts) == (State.COMPLETED, "id of hello", True, 1)
    (entry,) = (await app.store.ledger(job.id)).receipts
    assert entry.receipt == network.receipt("hello")
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


@pytest.mark.parametrize("close", ["pause", "blackout"])
async def test_gate_that_closes_during_an_upload_holds_the_post(
    app: Postino, close: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the post is out while its media are uploaded, so every gate holds it."""
    monkeypatch.setattr(call, "LONG_RUN", timedelta(0))
    network = FakeNetwork()
    uploads, uploading, may_go_on = 0, asyncio.Event(), asyncio.Event()

    async def upload(http: Http) -> str:
        nonlocal uploads
        uploads += 1
        uploading.set()
        await may_go_on.wait()
        return "upload"

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        await call.step("upload", upload)
        await call.once("post", network.post, payload, found=None, resend=NEVER)

    async def close_gate() -> Callable[[], Awaitable[object]]:
        if close == "pause":
            await app.pause("account", "acme")
            return lambda: app.resume("account", "acme")
        day = {"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"}
        blackout = await app.gate_control.add_blackout(day)
        return lambda: app.gate_control.remove_blackout(blackout.id)

    async with run_worker(app):
        job = await app.enqueue("publish", "hello", account="acme")
        await uploading.wait()
        open_gate = await close_gate()
        may_go_on.set()
        await wait_until_parked(app, job)
        assert (network.sends, (await app.store.job(job.id)).may_be_live) == (0, False)
        await open_gate()
        await wait_for_end(app, job)
    assert (network.sends, uploads, (await app.store.job(job.id)).attempts) == (1, 1, 1)


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
@pytest.mark.parametrize(("inert", "state"), [(False, State.UNCERTAIN), (True, State.COMPLETED)])
async def test_call_is_in_doubt_if_its_first_request_was_sent_and_its_second_was_not(
    app: Postino, inert: bool, state: State
) -> None:
    """The second request never left; the first one may have published the post, unless it was inert."""
    network = FakeNetwork()

    async def send(http: Http, text: str) -> Receipt:
        if network.sends:
            return network.receipt(text)
        network.sends += 1
        await http.request("POST", server.url, json={"text": text}, inert=inert)
        await http.request("POST", "http://127.0.0.1:9")
        raise AssertionError("nothing listens there")

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> Outcome:
        receipt = await call.with_policy(QUICK).once("post", send, payload, found=None, resend=NEVER)
        return Done(None, receipt.remote_id)

    async with RawServer(polite) as server, run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"), state)
    assert (job.run_at is None) == (state is State.UNCERTAIN), "only a person can tell"
    assert len(server.requests) == 1


@only_sqlite
@pytest.mark.parametrize(
    ("first", "later", "state"),
    [
        (200, "POST", State.UNCERTAIN),
        (200, "GET", State.UNCERTAIN),
        (503, "POST", State.UNCERTAIN),
        (401, "POST", State.FAILED),
    ],
)
async def test_call_is_in_doubt_if_only_its_second_request_was_refused(
    app: Postino, first: int, later: str, state: State
) -> None:
    """The failure tells only that the second request published nothing."""
    statuses = [first, 422]

    async def respond(visit: Visit) -> None:
        await visit.request()
        await visit.answer(statuses.pop(0))

    async def send(http: Http, text: str) -> Failure:
        await http.request("POST", server.url, json={"text": text})
        await http.request(later, server.url)
        return Failure(FailureKind.PERMANENT, "Too long.")

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        await call.once("post", send, payload, found=None, resend=NEVER)

    async with RawServer(respond) as server, run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"), state)
    assert (job.run_at is None) == (state is State.UNCERTAIN), "only a person can tell"
    assert len(server.requests) == 2


@only_sqlite
async def test_preparation_runs_before_each_intent(app: Postino) -> None:
    """A download that takes longer than the time to send must not use up the attempts."""
    network, prepared = FakeNetwork("not sent"), []

    async def download(http: Http, text: str) -> str:
        prepared.append((await app.store.ledger(jobs[0])).intents)
        return f"file {len(prepared)}"

    async def send(http: Http, file: str, text: str) -> Receipt:
        await network.post(http, f"{text} with {file}")
        await http.request("POST", server.url)
        return network.receipt(text)

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        jobs.append(job.id)
        await call.once("post", send, payload, found=None, resend=NEVER, prepare=download)

    jobs: list[UUID] = []
    async with RawServer(polite) as server, run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.posts) == (State.COMPLETED, 2, ["hello with file 2"])
    assert [len(intents) for intents in prepared] == [0, 1], "no intent is open while it prepares"


@only_sqlite
@pytest.mark.parametrize("problem", [Failure(FailureKind.PERMANENT, "The image is gone."), LostResponse("No image.")])
async def test_failed_preparation_sends_nothing(app: Postino, problem: Failure | LostResponse) -> None:
    network = FakeNetwork()

    async def download(http: Http, text: str) -> Failure:
        if isinstance(problem, Failure):
            return problem
        raise problem

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        await call.once("post", network.post, payload, found=None, resend=NEVER, prepare=download)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", "hello"))
    assert (job.state, job.attempts, network.sends) == (State.FAILED, 1 if isinstance(problem, Failure) else 3, 0)
    assert (await app.store.ledger(job.id)).intents == ()


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
        1 if lookup_result == Failure(FailureKind.PERMANENT, "not allowed") else MIN_ATTEMPTS_BEFORE_ASKING - 1
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
    assert [entry.receipt.remote_id for entry in (await app.store.ledger(job.id)).receipts if entry.receipt] == [
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
