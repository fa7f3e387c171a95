"""100,000 due posts that may not run, at the head: what a look and a claim of others touch beside them."""

import asyncio
import time
from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.trial import Trial
from benchmarks.workload import Figure, Stage, Target, Workload
from postino.stores.records import ClaimRequest
from postino.values.job import new_id
from tests.contract import backlogs
from tests.contract.databases import PostgresDatabase

CROWD = 100_000
LINES = {"channel": ("other", False), "lanes": ("other", True), "brand": ("posts", True)}
CROWDS: dict[str, backlogs.Crowd] = {
    "breaker": backlogs.open_breaker,
    "cooled": backlogs.cooled_accounts,
    "blackout": backlogs.blackout_of_a_brand,
    "paused": backlogs.paused_brand,
}
CLOSED_TO_ALL = "breaker"  # a network that is left alone is so for every brand


def gates(stage: Stage, installed: Installed) -> Mapping[str, float]:
    alone = beside(stage, installed, "nobody", backlogs.nobody)
    measured: dict[str, float] = {f"{name}-alone": value for name, value in alone.items()}
    for name, crowd in CROWDS.items():
        found = beside(stage, installed, name, crowd)
        for line in LINES.keys() & found.keys():
            measured[line] = max(measured.get(line, 0), found[line] / alone[line])
        measured["slower"] = max(measured.get("slower", 0), found["milliseconds"] - alone["milliseconds"])
    return measured


def beside(stage: Stage, installed: Installed, name: str, crowd: backlogs.Crowd) -> dict[str, float]:
    with Trial(stage.server, installed) as trial:
        database = PostgresDatabase(trial.url)
        asyncio.run(backlogs.create_backlog(database, crowd, stage.size(CROWD), analysed=True))
        found: dict[str, float] = {}
        for line, (channel, lanes) in LINES.items():
            if line != "brand" or name != CLOSED_TO_ALL:
                jobs, measured = backlogs.measure_claim(database, channel, lanes=lanes)
                assert len(jobs) == backlogs.FEW, f"{line} beside {name}: claimed {len(jobs)}"
                found[line] = sum(measured.touched.values())
        found["milliseconds"] = asyncio.run(milliseconds(database))
        database.close()
    return found


async def milliseconds(database: PostgresDatabase) -> float:
    """One look and one claim of all that may run, once the connection is there."""
    store = database.store()
    await store.open()
    try:
        await store.poll("w1")
        began = time.perf_counter()
        poll = await store.poll("w1")
        await store.claim(ClaimRequest(worker="w1", token=new_id(), free=backlogs.FEW, poll=poll))
        return 1000 * (time.perf_counter() - began)
    finally:
        await store.close()


WORKLOADS = (
    Workload(
        "gates-large",
        "claims beside 100,000 due posts that may not run: breaker, cooldowns, blackout, pause; the worst of them",
        ("postino",),
        (
            Figure("channel", "pages of a claim on another channel, of those alone", "×", targets=(Target(1.2),)),
            Figure("lanes", "the same of accounts on another channel", "×", targets=(Target(1.2),)),
            Figure("brand", "the same of another brand on the same channel", "×", targets=(Target(1.2),)),
            Figure("channel-alone", "pages of a claim on another channel, alone", "pages"),
            Figure("lanes-alone", "the same of accounts", "pages"),
            Figure("brand-alone", "the same of another brand", "pages"),
            Figure("milliseconds-alone", "one look and claim, alone", "ms"),
            Figure("slower", "the same beside them, slower by", "ms"),
        ),
        gates,
        most_rounds=1,
        large=True,
    ),
)
