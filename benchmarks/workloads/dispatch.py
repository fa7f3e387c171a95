"""Run `postino dispatch-due` as cron does, with 100,000 due jobs."""

import subprocess
import sys
import time
from collections.abc import Mapping

import psycopg

from benchmarks.install import Installed
from benchmarks.trial import Failed, Trial
from benchmarks.workload import Figure, Stage, Target, Workload

JOBS = 100_000
LONGEST = 60.0


def dispatch(stage: Stage, installed: Installed) -> Mapping[str, float]:
    count = stage.size(JOBS)
    with Trial(stage.server, installed) as trial:
        trial.ask("bulk", count=count)
        started = time.perf_counter()
        command = [sys.executable, "-m", "postino", "dispatch-due", "--database-url", trial.url, "--json"]
        result = subprocess.run(
            command, env=trial.environment(), capture_output=True, text=True, timeout=LONGEST, check=False
        )
        taken = time.perf_counter() - started
        if result.returncode:
            raise Failed(f"dispatch-due failed: {result.stderr.strip()[-600:]}")
        with psycopg.connect(trial.url) as connection:
            [[missed]] = connection.execute("SELECT count(*) FROM postino.jobs WHERE dispatched_at IS NULL").fetchall()
    return {"seconds": taken, "missed": missed}


WORKLOADS = (
    Workload(
        "dispatch",
        "dispatch-due with 100,000 due jobs",
        ("postino",),
        (
            Figure("seconds", "time taken", "s", targets=(Target(5),)),
            Figure("missed", "due jobs not dispatched", "jobs", targets=(Target(0),)),
        ),
        dispatch,
        most_rounds=3,
    ),
)
