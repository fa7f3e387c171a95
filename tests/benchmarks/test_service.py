"""The service's benchmarks ask what they say they ask, at a size that takes no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.archive import Account, fill
from benchmarks.catalogue import WORKLOADS
from benchmarks.clients.stream import summarise
from benchmarks.install import install
from benchmarks.service import Service
from benchmarks.subjects import SUBJECTS
from benchmarks.trial import Store
from benchmarks.workload import Stage
from postino import Postino
from postino.values.job import State
from postino.values.post import DayBounds, PostFilter
from tests.servers.postgres import PostgresServer

TINY = 1 / 500


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["accept-sqlite", "stream-sqlite", "lists-large-sqlite", "witness-sqlite", "attack-sqlite"]
)
def test_a_miniature_run_yields_every_figure(name: str, postgres_server: PostgresServer) -> None:
    workload = WORKLOADS[name]
    measured = workload.measure(Stage(postgres_server, TINY), install(SUBJECTS["postino"]))
    assert {figure.key for figure in workload.figures} <= measured.keys()
    if name.startswith("stream"):
        assert measured["missed"] == measured["doubled"] == 0
    if name.startswith("attack"):
        assert measured["missing"] == measured["errors"] == 0


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_an_archive_is_found_by_the_store_as_if_it_had_been_published(
    store: Store, postgres_server: PostgresServer
) -> None:
    accounts = [Account(f"mastodon:account{number}", "mastodon", f"brand {number % 2}") for number in range(40)]
    service = Service(postgres_server, store)
    try:
        service.add_settings(f'[database]\nurl = "{service.database}"\n')
        await service.migrate()
        await fill(service.database, 400, accounts)
        async with Postino(service.settings) as app:
            all_posts = await app.store.posts(PostFilter(limit=1000))
            ended = await app.store.posts(PostFilter(states=(State.COMPLETED,), limit=1000))
            now = datetime.now(UTC)
            [day] = await app.store.calendar(
                [DayBounds(now - timedelta(days=700), now + timedelta(days=700))], None, 10
            )
    finally:
        service.__exit__(None, None, None)
    assert len(all_posts) == day.posts == 400
    assert {post.job.state for post in all_posts} >= {State.PENDING, State.COMPLETED}
    assert len(ended) == sum(post.job.state is State.COMPLETED for post in all_posts)


def test_missing_and_repeated_events_of_a_listener_are_counted() -> None:
    answered = {"a": 1.0, "b": 2.0}
    heard = [[("a", 1.5, 0.25), ("b", 2.25, 0.75)], [("a", 0.5, 0.25), ("a", 1.0, 0.25)]]
    counted = summarise(answered, heard)
    assert (counted["missed"], counted["doubled"]) == (1, 1)
    assert (counted["p50"], counted["p99"], counted["answer-p99"]) == (250, 750, 500)
