"""Visible calls over a real connection: never after their time, and once although workers crash."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postino import Call, Done, Job, Outcome, Postino, State
from postino.clock import uptime
from postino.engine.call import Call as EngineCall
from postino.engine.call_context import CallContext
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.job_ledger import JobLedger, StopRun
from postino.engine.quota_meter import QuotaMeter
from postino.outbound.http import OutboundHttp
from postino.stores.records import ClaimRequest, WorkerInfo
from postino.values.job import new_id
from postino.values.ledger import NewIntent, ReceiptSource, Verdict
from postino.values.provider import NEVER, Http, Receipt
from tests.engine.conftest import run_worker, wait_for_end
from tests.engine.fake_network import QUICK, get_facts, wait_for_person
from tests.engine.publishing_worker import make_app
from tests.engine.test_call import only_sqlite
from tests.outbound.raw_server import RawServer, Visit, polite


async def send(http: Http, server: str, late: float = 0.0) -> Receipt:
    await asyncio.sleep(late)
    await http.request("POST", server)
    return Receipt(remote_id="r1")


@only_sqlite
async def test_call_after_its_send_before_time_is_not_sent(app: Postino) -> None:
    async with RawServer(polite) as server:

        @app.handler("publish")
        async def publish(job: Job, payload: str, call: Call) -> Outcome:
            late = 0.3 if job.attempts == 1 else 0.0
            await call.with_policy(QUICK).once("post", send, server.url, late, found=None, resend=NEVER)
            return Done()

        async with run_worker(app):
            job = await wait_for_end(app, await app.enqueue("publish", ""))
        assert (job.state, job.attempts, len(server.requests)) == (State.COMPLETED, 2, 1)
    assert await get_facts(app, job) == [
        (1, Verdict.REFUSED, ReceiptSource.CALL),
        (2, Verdict.ACCEPTED, ReceiptSource.CALL),
    ]


@only_sqlite
async def test_worker_with_expired_lease_sends_nothing(app: Postino) -> None:
    await app.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    job = await app.enqueue("publish")
    poll = await app.store.poll("w")
    (claimed,) = await app.store.claim(ClaimRequest(worker="w", token=new_id(), free=1, poll=poll))

    async def intend(intent: NewIntent) -> object:
        return (await app.store.record_intents([intent]))[0]

    async with RawServer(polite) as server, OutboundHttp() as outbound:
        circuits = CircuitMonitor(app.store, {}, lambda: datetime.now(UTC), lambda: None)
        meter = QuotaMeter(app.store, {})
        over = "The lease is over."
        context = CallContext(
            app.enqueue_spec, outbound, lambda: datetime.now(UTC), uptime, lambda: over, circuits, meter
        )
        call = EngineCall(JobLedger(app.store, intend, claimed), context, QUICK)  # type: ignore[arg-type]
        with pytest.raises(StopRun) as stopped:
            await call.once("post", send, server.url, found=None, resend=NEVER)
        assert (server.requests, server.connections) == ([], 0)
    assert "The lease is over." in str(stopped.value.outcome)
    assert await get_facts(app, job) == [(1, Verdict.REFUSED, ReceiptSource.CALL)]


@only_sqlite
async def test_broken_connection_after_sending_is_uncertain(app: Postino) -> None:
    async def swallow(visit: Visit) -> None:
        await visit.request()
        visit.reset()

    async with RawServer(swallow) as server:

        @app.handler("publish")
        async def publish(job: Job, payload: str, call: Call) -> Outcome:
            await call.with_policy(QUICK).once("post", send, server.url, found=None, resend=NEVER)
            return Done()

        async with run_worker(app):
            await wait_for_person(app, await app.enqueue("publish", ""))
        assert len(server.requests) == 1


# Crashes


@dataclass
class FakeSite:
    """A site that stores pictures and posts, and lists the posts."""

    pictures: int = 0
    posts: list[dict[str, str]] = field(default_factory=list)

    async def serve(self, visit: Visit) -> None:
        while True:
            response = await visit.request()
            answer: object = self.posts
            if response.startswith(b"POST /pictures"):
                self.pictures += 1
                answer = {"id": f"picture {self.pictures}"}
            elif response.startswith(b"POST /posts"):
                answer = {"id": f"post {len(self.posts) + 1}", **json.loads(response.partition(b"\r\n\r\n")[2])}
                self.posts.append(answer)
            await visit.answer(body=json.dumps(answer).encode())


@dataclass(frozen=True)
class CrashCase:
    """A crash point, and what must be true after the next worker has run."""

    point: str
    resend: str = "never"
    pictures: int = 1
    needs_person: bool = False
    looks_up: bool = True

    async def check(self, folder: Path) -> None:
        url, site = f"sqlite:///{folder}/postino.db", FakeSite()
        app = make_app(url, folder)
        async with RawServer(site.serve) as server, app:
            job = await app.enqueue("publish", {"server": server.url, "resend": self.resend})
            assert await asyncio.to_thread(self.crash, url, folder) == -9
            async with run_worker(app):
                if self.needs_person:
                    await wait_for_person(app, job)
                else:
                    assert (await wait_for_end(app, job)).state is State.COMPLETED, self
            assert site.pictures == self.pictures, self
            assert len(site.posts) == (0 if self.needs_person else 1), self
            looked = any(request.startswith(b"GET") for request in server.requests)
            assert looked is self.looks_up, self

    def crash(self, url: str, folder: Path) -> int:
        environment = os.environ | {
            "SENDER_DATABASE": url, "SENDER_FOLDER": str(folder), "POSTINO_CRASH": self.point,
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-m", "tests.engine.publishing_worker"], env=environment, timeout=30
        ).returncode


CRASH_CASES = [
    CrashCase("step.before", looks_up=False),
    CrashCase("step.after", pictures=2, looks_up=False),
    CrashCase("save_step.before", pictures=2, looks_up=False),
    CrashCase("save_step.after", looks_up=False),
    CrashCase("record_intents.before", looks_up=False),
    CrashCase("record_intents.after", needs_person=True),
    CrashCase("record_intents.after", resend="harmless"),
    CrashCase("send.before", resend="harmless"),
    CrashCase("send.after"),
    CrashCase("record_receipt.before"),
    CrashCase("record_receipt.after", looks_up=False),
    CrashCase("settle.before", looks_up=False),
]


@pytest.mark.slow
async def test_crash_at_any_point_publishes_once_or_asks_a_person(tmp_path: Path) -> None:
    for some in (CRASH_CASES[::2], CRASH_CASES[1::2]):
        await asyncio.gather(*(case.check(tmp_path / f"{CRASH_CASES.index(case)}") for case in some))


@pytest.mark.slow
async def test_crash_during_lookup_is_followed_by_another_lookup(tmp_path: Path) -> None:
    url, site = f"sqlite:///{tmp_path}/postino.db", FakeSite()
    app = make_app(url, tmp_path)
    async with RawServer(site.serve) as server, app:
        job = await app.enqueue("publish", {"server": server.url, "resend": "never"})
        for point in ("send.after", "lookup.before", "lookup.after"):
            assert await asyncio.to_thread(CrashCase(point).crash, url, tmp_path) == -9
        async with run_worker(app):
            result = await wait_for_person(app, job)
            assert result.rescues == 3, "three workers died under it, so a person has a look at it first"
            await app.resolve(job.id, Done(remote_id="post 1"), reason="it is there")
            assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert len(site.posts) == 1
