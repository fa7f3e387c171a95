"""A short chaos run on each store; `make crash` does the long one."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.crash.chaos import Plan, cause_chaos

KILLS = 15


@pytest.mark.crash
async def test_workers_killed_at_random_lose_nothing_and_run_nothing_twice(
    forker_address: str, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    with capsys.disabled():
        print(f"\nchaos on {database_url.partition(':')[0]}: CRASH_SEED={seed}", file=sys.stderr)
    figures = await cause_chaos(Plan(database_url, tmp_path, KILLS, seed), forker_address)
    text = "\n".join([f"CRASH_SEED={seed} gives the same jobs and fates again.", *figures.evidence])
    assert figures.violations == [], text
    assert figures.kills >= KILLS
    assert figures.states["completed"] > KILLS
    assert figures.checks > 20
