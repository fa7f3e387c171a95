"""Count the pages that polls and claims of other posts touch beside 100,000 blocked due posts."""

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
    """Time one poll and one claim of all open jobs, on an open connection."""
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
        "claims beside 100,000 blocked due posts: open circuit, cooldowns, blackout, pause; the worst of the four",
        ("postino",),
        (
            Figure(
                "channel",
                "pages of a claim on another channel, compared with no blocked posts",
                "×",
                targets=(Target(1.2),),
            ),
            Figure("lanes", "pages of a claim of accounts on another channel, compared", "×", targets=(Target(1.2),)),
            Figure(
                "brand", "pages of a claim of another brand on the same channel, compared", "×", targets=(Target(1.2),)
            ),
            Figure("channel-alone", "pages of a claim on another channel, without blocked posts", "pages"),
            Figure("lanes-alone", "pages of a claim of accounts, without blocked posts", "pages"),
            Figure("brand-alone", "pages of a claim of another brand, without blocked posts", "pages"),
            Figure("milliseconds-alone", "one poll and claim, without blocked posts", "ms"),
            Figure("slower", "additional time beside blocked posts", "ms"),
        ),
        gates,
        most_rounds=1,
        large=True,
    ),
)
