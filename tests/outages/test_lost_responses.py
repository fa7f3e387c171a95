"""Responses of the database are lost: no job is lost, and none is done twice."""

import pytest

from postino import Postino, State
from postino.stores.records import ClaimRequest, JobFilter, WorkerInfo
from postino.values.event import EventType
from postino.values.job import new_id
from tests.engine.conftest import run_worker, wait_for_end
from tests.outages.job_flow import Flow, Logs, all_events, find_alarms, is_query, run_flow, wait_for_losses
from tests.servers.proxy import Proxy, nth


@pytest.mark.parametrize("key", [None, "k"])
async def test_enqueue_with_a_lost_response_is_repeated_and_leaves_one_job(
    app: Postino, proxy: Proxy, key: str | None
) -> None:
    proxy.loses = nth(1, is_query("insert_jobs"))
    job = await app.enqueue("flow", key=key)
    proxy.loses = nth(1, is_query("insert_jobs"))
    many = await app.enqueue_many([{"type": "flow", "key": key and f"{key}{number}"} for number in range(10)])
    assert len(proxy.lost) == 2
    assert {stored.id for stored in await app.store.jobs(JobFilter())} == {job.id, *(job.id for job in many)}


@pytest.mark.parametrize(
    ("names", "given_back"), [(("claim_bulk_jobs",), True), (("claim_lane_jobs",), True), (("poll",), False)], ids=str
)
async def test_worker_with_lost_responses_runs_every_job_once(
    flow: Flow, proxy: Proxy, logs: Logs, names: tuple[str, ...], given_back: bool
) -> None:
    async with run_flow(flow):
        for answers in (1, 2, 3):
            proxy.loses = nth(2, is_query(*names))
            await wait_for_losses(proxy, answers)
            await flow.check_recovery()
    await flow.check(given_back=given_back)
    assert find_alarms(logs) == []


async def test_rescue_with_a_lost_response_happens_once(app: Postino, flow: Flow, proxy: Proxy) -> None:
    job = await app.enqueue("flow")
    await app.store.register_worker(WorkerInfo(id="dead", host="here", pid=1))
    order = ClaimRequest(worker="dead", token=new_id(), free=1, poll=await app.store.poll("dead"))
    assert [claimed.id for claimed in await app.store.claim(order)] == [job.id]
    proxy.loses = nth(1, is_query("remove_dead_worker"))
    async with run_worker(app):
        done = await wait_for_end(app, job)
    assert len(proxy.lost) == 1
    assert (done.state, done.rescues, flow.starts[job.id]) == (State.COMPLETED, 1, 1)
    assert [event.type for event in await all_events(app)].count(EventType.RESCUED) == 1


async def test_unregister_with_a_lost_response_is_done(app: Postino, flow: Flow, proxy: Proxy) -> None:
    async with run_worker(app):
        await wait_for_end(app, await app.enqueue("flow"))
        proxy.loses = nth(1, is_query("delete_worker"))
    assert len(proxy.lost) == 1
    assert await app.store.workers() == []
