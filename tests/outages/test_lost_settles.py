"""How a job ended is written, the answer never comes, and it is written once all the same; nobody is alarmed."""

import random

import pytest

from postino import Job, Outcome, Postino, Retry, State, Unknown
from tests.engine.conftest import ended, working
from tests.outages.flow import Flow, Logs, alarms, asking, flowing, lost
from tests.servers.proxy import Proxy, nothing, nth, share

ANYTHING = asking("insert_jobs", "survey", "claim_*", "settle*", "record_heartbeat")


async def test_a_settle_whose_answer_is_lost_is_found_written_and_no_alarm_is_raised(
    flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    async with flowing(flow):
        for answers in (1, 2, 3):
            proxy.loses = nth(2, asking("settle*"))
            await lost(proxy, answers)
            await flow.back()
    await flow.check()
    assert alarms(logs) == []


@pytest.mark.parametrize(("outcome", "state"), [(Retry("later"), "retrying"), (Unknown("no answer"), "uncertain")])
async def test_an_ending_that_is_not_the_last_is_written_once_too(
    app: Postino, proxy: Proxy, logs: Logs, outcome: Outcome, state: str
) -> None:
    ran: list[Job] = []

    @app.handler("once")
    async def once(job: Job) -> Outcome | None:
        ran.append(job)
        return outcome if len(ran) == 1 else None

    proxy.loses = nth(1, asking("settle_live"))
    async with working(app):
        job = await ended(app, await app.enqueue("once"), State.COMPLETED, State.UNCERTAIN)
    assert len(proxy.lost) == 1
    outcomes = [attempt.outcome for attempt in await app.store.attempts(job.id)]
    assert outcomes == ([state, "completed"] if state == "retrying" else [state])
    assert alarms(logs) == []


async def test_any_answers_lost_by_chance_lose_no_job_and_run_none_twice(flow: Flow, proxy: Proxy, logs: Logs) -> None:
    async with flowing(flow):
        proxy.loses = share(0.1, random.Random(1), ANYTHING)
        await lost(proxy, 15)
        proxy.loses = nothing
        await flow.back()
    await flow.check(given_back=True)
    assert alarms(logs) == []
