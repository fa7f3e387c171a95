"""Responses to settles are lost: each ending is written once, and no alarm is logged."""

import random

import pytest

from postino import Job, Outcome, Postino, Retry, State, Unknown
from tests.engine.conftest import run_worker, wait_for_end
from tests.outages.job_flow import Flow, Logs, find_alarms, is_query, run_flow, wait_for_losses
from tests.servers.proxy import Proxy, lose_nothing, nth, share

ANYTHING = is_query("insert_jobs", "poll", "claim_*", "settle*", "record_heartbeat")


async def test_settle_with_a_lost_response_raises_no_alarm(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with run_flow(flow):
        for answers in (1, 2, 3):
            proxy.loses = nth(2, is_query("settle*"))
            await wait_for_losses(proxy, answers)
            await flow.check_recovery()
    await flow.check()
    assert find_alarms(logs) == []


@pytest.mark.parametrize(("outcome", "state"), [(Retry("later"), "retrying"), (Unknown("no answer"), "uncertain")])
async def test_retry_with_a_lost_response_is_written_once(
    app: Postino, proxy: Proxy, logs: Logs, outcome: Outcome, state: str
) -> None:
    ran: list[Job] = []

    @app.handler("once")
    async def once(job: Job) -> Outcome | None:
        ran.append(job)
        return outcome if len(ran) == 1 else None

    proxy.loses = nth(1, is_query("settle_unfinished"))
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("once"), State.COMPLETED, State.UNCERTAIN)
    assert len(proxy.lost) == 1
    outcomes = [attempt.outcome for attempt in await app.store.attempts(job.id)]
    assert outcomes == ([state, "completed"] if state == "retrying" else [state])
    assert find_alarms(logs) == []


async def test_randomly_lost_responses_lose_and_repeat_no_job(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with run_flow(flow):
        proxy.loses = share(0.1, random.Random(1), ANYTHING)
        await wait_for_losses(proxy, 15)
        proxy.loses = lose_nothing
        await flow.check_recovery()
    await flow.check(given_back=True)
    assert find_alarms(logs) == []
