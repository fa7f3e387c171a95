"""A standby takes over from its primary, with all that was committed or without the last seconds."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from postino.values.job import State
from tests.conftest import go_without
from tests.crash.publishing.oracle import Oracle
from tests.restore.drill import ASKABLE, SILENT, Drill
from tests.restore.failover import SharedAddress
from tests.restore.places import PostgresPlace
from tests.servers import ServerMissing
from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import Standby

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.postgres]
OVERDUE = """
    UPDATE postino.jobs SET run_at = run_at - interval '2 hours', scheduled_at = scheduled_at - interval '2 hours'
    WHERE state = 'pending'
"""


class Cluster:
    """A primary, its standby and the address that workers know."""

    def __init__(self, drill: Drill, standby: Standby, address: SharedAddress) -> None:
        self.drill = drill
        self.standby = standby
        self.address = address
        self.url = address.get_url(drill.place.url)

    def fail_over(self) -> None:
        self.standby.take_over()
        self.address.switch(self.standby)

    def fail_over_completely(self) -> None:
        self.standby.catch_up()
        self.fail_over()


@pytest.fixture
def cluster(tmp_path: Path, drill_forker: str, drill_oracle: Oracle) -> Iterator[Cluster]:
    with ExitStack() as ending:
        try:
            primary = ending.enter_context(PostgresServer())
            place = PostgresPlace(primary)
            standby = ending.enter_context(Standby(primary))
        except ServerMissing as missing:
            go_without(str(missing))
        address = ending.enter_context(SharedAddress(primary))
        drill = Drill(drill_forker, tmp_path, place, drill_oracle)
        ending.callback(drill.forget_machines)
        yield Cluster(drill, standby, address)


def write_checkpoint(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


async def test_promotion_that_lost_nothing_calls_the_roll_and_asks_nobody(cluster: Cluster) -> None:
    drill = cluster.drill
    async with drill.open(cluster.url) as site:
        await site.start("one")
        await site.start("two")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        later = await site.schedule(ASKABLE, SILENT, hours=0.001)
        with cluster.standby.freeze_checkpoints():  # the last one is still of the former timeline
            await drill.run(cluster.fail_over_completely)
            await site.expect_roll_call()
            await site.expect_published_once(*later)
            await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
            await site.expect_no_question()
            await site.stop(*site.living)
            before = site.list_changes()
        await drill.run(lambda: write_checkpoint(cluster.standby.url))  # from now on, the timeline is in it, too
        await site.start("one")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        assert site.list_changes() == before, "one roll call for one failover"


async def test_promotion_that_lost_the_last_seconds_publishes_nothing_again(cluster: Cluster) -> None:
    drill = cluster.drill
    async with drill.open(cluster.url) as site:
        first = await site.start()
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(first)
        sent = await site.schedule(ASKABLE, SILENT)
        await drill.run(cluster.standby.stop_receiving)
        await site.start("one")
        await site.start("two")
        await site.expect_published_once(*sent)
        await drill.run(cluster.fail_over)
        await site.expect_roll_call()
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_no_question()


async def test_process_that_misses_the_roll_call_leaves_overdue_posts_under_suspicion(cluster: Cluster) -> None:
    """The process that sent the lost posts dies in the failover, and returns much later with what it remembers."""
    drill = cluster.drill
    async with drill.open(cluster.url) as site:
        present, absent = await site.start("present"), await site.start("absent")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.stop(present)
        await site.harness.app.pause("all", "")
        sent = await site.schedule(ASKABLE, SILENT)
        await drill.run(lambda: drill.place.run(OVERDUE))
        tomorrow = await site.schedule(ASKABLE, SILENT, hours=24)
        await drill.run(cluster.standby.stop_receiving)
        await site.harness.app.resume("all", "")
        await site.expect_published_once(*sent)
        absent.kill()
        await absent.ended
        site.living.clear()
        await drill.run(cluster.fail_over)
        await site.start("present")
        await site.expect_roll_call()
        await site.harness.app.resume("all", "")
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_live_once(*sent)
        await site.expect_nothing_sent(*tomorrow)
        await site.start("absent")
        await site.wait_for_state(State.COMPLETED, sent[0])
        await site.wait_for_person(sent[1])
        await site.expect_live_once(*sent)
        await site.expect_no_question()
