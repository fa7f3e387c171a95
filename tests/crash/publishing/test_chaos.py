"""A short chaos run of posts on each store; `make crash` does the long one."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.crash.chaos import Plan
from tests.crash.publishing.chaos import cause_chaos
from tests.crash.publishing.oracle import Oracle

KILLS = 15


@pytest.mark.crash
async def test_workers_killed_at_random_publish_nothing_twice_and_lose_nothing(
    forker_address: str, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("CRASH_SEED") or time.time())
    with capsys.disabled():
        print(f"\nposts in chaos on {database_url.partition(':')[0]}: CRASH_SEED={seed}", file=sys.stderr)
    with Oracle(tmp_path) as oracle:
        figures = await cause_chaos(Plan(database_url, tmp_path, KILLS, seed), forker_address, oracle)
    text = "\n".join([f"CRASH_SEED={seed} gives the same fates again.", *figures.evidence])
    assert figures.violations == [], text
    assert figures.kills >= KILLS
    assert figures.posts + figures.forgotten > KILLS, figures  # a restore forgets the posts since its backup
    assert figures.checks > 20
