"""A job that meets a used-up quota waits until there is room: workers do not claim it over and over."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from postino import Call, Done, Job, Outcome, Postino, State
from postino.rules.quota import Quota
from postino.values.gate import Scope
from postino.values.provider import NEVER
from tests.engine.conftest import run_worker, wait_for_end
from tests.engine.fake_network import QUICK, FakeNetwork, register_publisher

PERIOD = timedelta(seconds=1.5)  # thirty polls
MOST_CLAIMS = 2  # one that meets the used-up quota, and one after it has room; a hot loop makes hundreds


def limit_posts(app: Postino, whose: Scope) -> None:
    quota = Quota(name="one", most=1, period=PERIOD, whose=whose, costs={"post": 1})
    app.channel_limits = replace(app.channel_limits, quotas={"publish": (quota,)})


def count_claims(app: Postino, monkeypatch: pytest.MonkeyPatch) -> Counter[UUID]:
    """Return how often each job is claimed, from now on."""
    operation, claims = app.store.claim, Counter[UUID]()

    async def claim(*arguments: Any, **options: Any) -> Any:
        jobs: Iterable[Job] = await operation(*arguments, **options)
        claims.update(job.id for job in jobs)
        return jobs

    monkeypatch.setattr(app.store, "claim", claim)
    return claims


@pytest.mark.parametrize("account", ["acme", None])
async def test_fresh_job_is_claimed_once_before_the_quota_has_room(
    app: Postino, account: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = FakeNetwork()
    register_publisher(app, network)
    limit_posts(app, Scope.ACCOUNT if account else Scope.CHANNEL)
    async with run_worker(app, poll=0.05):
        await wait_for_end(app, await app.enqueue("publish", "first", account=account))
        claims = count_claims(app, monkeypatch)
        fresh = await app.enqueue("publish", "fresh", account=account)
        assert (await wait_for_end(app, fresh)).state is State.COMPLETED
    assert 0 < claims[fresh.id] <= MOST_CLAIMS
    assert network.posts == ["first", "fresh"]


async def test_retried_job_is_claimed_once_before_the_quota_has_room(
    app: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = FakeNetwork("limited")  # for 50 ms; the request has used the quota up
    register_publisher(app, network)
    limit_posts(app, Scope.ACCOUNT)
    claims = count_claims(app, monkeypatch)
    async with run_worker(app, poll=0.05):
        retried = await app.enqueue("publish", "retried", account="acme")
        assert (await wait_for_end(app, retried)).state is State.COMPLETED
    assert claims[retried.id] <= 1 + MOST_CLAIMS
    assert network.sends == 2


async def test_replayed_job_is_claimed_once_before_the_quota_has_room(
    app: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = FakeNetwork("refused")
    register_publisher(app, network)
    limit_posts(app, Scope.ACCOUNT)
    async with run_worker(app, poll=0.05):
        dead = await app.enqueue("publish", "replayed", account="acme")
        assert (await wait_for_end(app, dead)).state is State.FAILED
        claims = count_claims(app, monkeypatch)
        await app.replay(dead.id, force=True)
        assert (await wait_for_end(app, dead, State.COMPLETED)).state is State.COMPLETED
    assert 0 < claims[dead.id] <= MOST_CLAIMS
    assert network.sends == 2


async def test_thread_is_claimed_once_before_the_quota_has_room(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    network = FakeNetwork()

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> Outcome:
        quick = call.with_policy(QUICK)
        for number in (1, 2):
            part = f"part {number}"
            await quick.once(f"post {number}", network.post, part, found=network.find, resend=NEVER)
        return Done()

    limit_posts(app, Scope.ACCOUNT)
    claims = count_claims(app, monkeypatch)
    async with run_worker(app, poll=0.05):
        thread = await app.enqueue("publish", "thread", account="acme")
        assert (await wait_for_end(app, thread)).state is State.COMPLETED
    assert claims[thread.id] <= MOST_CLAIMS
    assert network.posts == ["part 1", "part 2"]
