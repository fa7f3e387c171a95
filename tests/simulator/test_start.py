"""Lives of a single worker, for what a random life has found at its start."""

import asyncio
from dataclasses import replace

from tests.simulator.life import Life, open_life
from tests.simulator.people import Person
from tests.simulator.platform import Platform
from tests.simulator.script import draw_script
from tests.simulator.swarm import draw_swarm

QUIET = replace(draw_swarm("quiet"), rates={}, acts={}, events={}, workers=0)


async def start_during_outage(life: Life, seconds: float) -> int:
    """Start a worker while the database is away for so many seconds; return how many workers there are afterwards."""
    life.server = life.make_app("server")
    life.person, life.platform = Person(life), Platform(life)
    life.is_away = True
    life.start_worker()
    await asyncio.sleep(seconds)
    life.is_away = False
    await asyncio.sleep(5)
    return len(await life.platform.store.workers())


def test_worker_that_starts_during_an_outage_waits_for_its_end() -> None:
    with open_life(draw_script("outage", QUIET)) as life:
        assert life.loop.run_until_complete(start_during_outage(life, 60.0)) == 1
        assert life.failures == []
