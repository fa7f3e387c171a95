"""Blocked or future jobs cost other claims nothing: counted in pages read, never in time."""

from __future__ import annotations

import re

import pytest

from postino.stores.statement import Operation, each, get_statement
from tests.contract import backlogs
from tests.contract.backlogs import FEW, Crowd, Measured, create_backlog, fill, measure_claim, take_hints
from tests.contract.databases import PostgresDatabase, SqliteDatabase, only_postgres, only_sqlite
from tests.crash.points import EVERYTHING

MORE = 1.2  # times the pages of the same claim without a crowd
FEW_PAGES = 300  # some fifteen for each of ten jobs, mostly to write them; walking over a crowd takes thousands
ANALYSED = pytest.mark.parametrize("analysed", [True, False] if EVERYTHING else [False])
BESIDE: dict[Crowd, list[tuple[str, bool]]] = {
    backlogs.open_breaker: [("other", False), ("other", True)],
    backlogs.broken_services: [("other", False), ("other", True), ("posts", True)],
    backlogs.cooled_accounts: [("other", False), ("other", True), ("posts", True)],
    backlogs.cooled_brands: [("other", False), ("other", True), ("posts", True)],
    backlogs.blackout_of_a_brand: [("other", False), ("other", True), ("posts", True)],
    backlogs.paused_brand: [("other", False), ("other", True), ("posts", True)],
    backlogs.paused_account: [("other", False), ("other", True), ("posts", True)],
    backlogs.unhandled_types: [("other", False), ("other", True), ("posts", True)],
}


@only_postgres
@ANALYSED
@pytest.mark.slow
@pytest.mark.parametrize("crowd", BESIDE)
async def test_held_backlog_costs_other_claims_no_page(
    database: PostgresDatabase, crowd: Crowd, analysed: bool
) -> None:
    """Another channel, on either path, and another brand of the same channel: all statements of a look and a claim."""
    usual: dict[tuple[str, bool], Measured] = {}
    await create_backlog(database, backlogs.nobody, analysed=analysed)
    for channel, lanes in BESIDE[crowd]:
        jobs, usual[channel, lanes] = measure_claim(database, channel, lanes=lanes)
        assert len(jobs) == FEW
    database.wipe()
    await create_backlog(database, crowd, analysed=analysed)
    for channel, lanes in BESIDE[crowd]:
        jobs, measured = measure_claim(database, channel, lanes=lanes)
        assert len(jobs) == FEW
        most = MORE * sum(usual[channel, lanes].touched.values())
        dearer = {
            name: (pages, usual[channel, lanes].touched.get(name))
            for name, pages in measured.touched.items()
            if pages > usual[channel, lanes].touched.get(name, 0)
        }
        assert sum(measured.touched.values()) <= most, (channel, lanes, dearer)
        assert measured.walked == set()


@only_postgres
@ANALYSED
async def test_claim_reads_few_pages_beside_a_backlog_due_tomorrow(database: PostgresDatabase, analysed: bool) -> None:
    fill(database, "other", backlogs.CROWD, since="-1 day")
    fill(database, "posts", backlogs.CROWD, account="'a' || number % 100", since="-1 day")
    await create_backlog(database, backlogs.nobody, analysed=analysed)
    for channel, lanes in (("other", False), ("other", True), ("posts", True)):
        jobs, measured = measure_claim(database, channel, lanes=lanes)
        assert len(jobs) == FEW
        assert max(measured.touched.values()) <= FEW_PAGES, measured.touched


@only_postgres
@ANALYSED
async def test_lane_with_a_backlog_is_updated_in_few_pages(database: PostgresDatabase, analysed: bool) -> None:
    await create_backlog(database, backlogs.paused_account, analysed=analysed)
    measured = Measured(database)

    def rearm() -> Operation[None]:
        names = ("closed_brand", "brand_until_at", "closed_account", "account_until_at")
        shut: dict[str, list[str]] = {name: [] for name in names}
        armed = yield each("update_lane_due", [{"channel": "posts", "lane": "@a0"}], **shut)
        assert len(armed) == 1

    measured.run(rearm())
    assert measured.touched["update_lane_due"] <= FEW_PAGES


@only_postgres
async def test_due_lane_is_found_without_reading_its_channel(database: PostgresDatabase) -> None:
    """A new table, of which the planner knows nothing yet: it must not believe that a channel has few lanes."""
    fill(database, "posts", 200, account="'a' || number")
    await take_hints(database)
    jobs, measured = measure_claim(database, "posts", lanes=True)
    assert len(jobs) == FEW
    assert measured.discarded["lock_ready_lanes"] == 0


@only_sqlite
@pytest.mark.parametrize(
    "name",
    [
        "claim_started_jobs", "claim_bulk_jobs", "claim_lane_jobs", "count_running_jobs", "find_jobs_by_key", "get_job",
        "lock_started_jobs", "update_lane_due", "settle_completed", "settle_finished", "settle_unfinished",
        "find_settled", "take_outage_posts", "count_probes",
    ],
)  # fmt: skip
def test_sqlite_reads_jobs_through_an_index(database: SqliteDatabase, name: str) -> None:
    for part in get_statement("sqlite", name).text.split(";"):
        values = re.sub(r":[a-z_]+", "'[]'", part)
        steps = [str(step[-1]) for step in database.sql(f"EXPLAIN QUERY PLAN {values}")]
        walks = [step for step in steps if re.match(r"SCAN postino_(jobs|finished_jobs|idempotency_keys)\b", step)]
        assert steps
        assert [walk for walk in walks if "USING" not in walk] == [], steps
