"""Count the pages that a claim and a settle touch beside a million other rows, and in empty tables."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import LiteralString

import psycopg

from benchmarks.install import Installed
from benchmarks.pages import LONG_AGO, count_touched_pages
from benchmarks.trial import Failed, Trial
from benchmarks.workload import Figure, Stage, Target, Workload

CROWD, LARGE_CROWD = 1_000_000, 10_000_000
READY, CLAIMED = 1_000, 100
BYTES_EACH, WAL = 1_000, 5_000_000_000  # of a finished job with its history and events; of the log before it is cleared
LONGEST_FILL = "-c statement_timeout=900s"
CHURN, CHURNING = 20_000, 60.0  # jobs that come and go while a transaction is open, and the seconds they may take

# Ordered like real ones, which begin with their time; older than any of today.
ID: LiteralString = "('00000000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid"
FUTURE: LiteralString = f"""
INSERT INTO postino.jobs (id, type, channel, queue, state, idempotency_key, payload, scheduled_at, run_at, created_at)
SELECT {ID}, 'noop', 'noop', 1, 'pending', {ID}::text, '\\x7b7d', at, at, now()
FROM generate_series(1, %s) AS number, LATERAL (SELECT now() + interval '1 day' + number * interval '1 ms' AS at) AS t
"""
FINISHED: LiteralString = f"""
INSERT INTO postino.finished_jobs (id, type, channel, queue, state, idempotency_key, payload, scheduled_at, run_at,
    attempts, generation, rescues, deferrals, may_be_live, claimed_by, claimed_at, created_at, finished_at)
SELECT {ID}, 'noop', 'noop', 1, 'completed', {ID}::text, '\\x7b7d', now(), now(), 1, 1, 0, 0, false, 'w',
    now(), now(), now() FROM generate_series(1, %s) AS number
"""
HISTORY: LiteralString = f"""
INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome)
SELECT {ID}, 1, 1, now(), now(), 'w', 'completed' FROM generate_series(1, %s) AS number
"""
EVENTS: LiteralString = f"""
INSERT INTO postino.events (at, type, job_id) SELECT now(), 'job.completed', {ID}
FROM generate_series(1, %s) AS number
"""
CROWDS: dict[str, tuple[LiteralString, ...]] = {"future": (FUTURE,), "finished": (FINISHED, HISTORY, EVENTS)}


def crowds(stage: Stage, installed: Installed) -> Mapping[str, float]:
    empty = beside(stage, installed, (), 0)
    found = {name: beside(stage, installed, fills, stage.size(CROWD)) for name, fills in CROWDS.items()}
    return compare(empty, found)


def measure_with_open_transaction(stage: Stage, installed: Installed) -> Mapping[str, float]:
    """Open a transaction before the jobs run, so that PostgreSQL cannot remove their dead rows."""
    crowd = stage.size(LARGE_CROWD)
    if shutil.disk_usage(tempfile.gettempdir()).free < crowd * BYTES_EACH + WAL:
        raise Failed(f"{crowd:,} rows need {(crowd * BYTES_EACH + WAL) / 1e9:.0f} GB free in {tempfile.gettempdir()}.")
    empty = beside(stage, installed, (), 0)
    return compare(empty, {"finished": beside(stage, installed, CROWDS["finished"], crowd, held=True)})


def beside(
    stage: Stage, installed: Installed, fills: tuple[LiteralString, ...], crowd: int, held: bool = False
) -> dict[str, int]:
    ready = stage.size(READY)
    with Trial(stage.server, installed) as trial:
        with psycopg.connect(trial.url, autocommit=True, options=LONGEST_FILL) as connection:
            for fill in fills:
                connection.execute(fill, [crowd])
        if not held:
            trial.ask("bulk", count=ready)
            tidy(trial.url)
            return count_touched_pages(trial.url, min(CLAIMED, ready))
        tidy(trial.url)
        with open_transaction(trial.url):
            mark = churn(trial, stage.size(CHURN))
            trial.ask("bulk", count=ready)
            return count_touched_pages(trial.url, min(CLAIMED, ready), mark)


def churn(trial: Trial, count: int) -> datetime:
    """Enqueue, claim and finish jobs; return the mark from which a worker would continue."""
    trial.ask("bulk", count=count)
    trial.start(concurrency=200)
    if trial.marks.wait_for(count, CHURNING, trial.check):
        trial.wait_until_finished(CHURNING)
    trial.kill()
    if trial.count_unfinished():
        raise Failed(f"{trial.count_unfinished()} of {count} jobs were not done in {CHURNING:.0f} s.")
    with psycopg.connect(trial.url) as connection:
        [[mark]] = connection.execute(
            "SELECT max(run_at) FROM postino.finished_jobs WHERE token IS NOT NULL"
        ).fetchall()
    return mark or LONG_AGO


def tidy(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def open_transaction(url: str) -> Iterator[None]:
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT pg_current_xact_id()")
        yield
        connection.rollback()


def compare(empty: Mapping[str, int], found: Mapping[str, Mapping[str, int]]) -> Mapping[str, float]:
    figures_by_name: dict[str, float] = {f"empty-{verb}": pages for verb, pages in empty.items()}
    for name, pages in found.items():
        figures_by_name |= {f"{name}-{verb}": pages[verb] / empty[verb] for verb in empty}
    return figures_by_name


def figures(*names: str) -> tuple[Figure, ...]:
    plain = [Figure(f"empty-{verb}", f"pages per {verb} of 100, empty tables", "pages") for verb in ("claim", "settle")]
    return *plain, *(
        Figure(f"{name}-{verb}", f"pages per {verb}, beside {name} rows", "× empty", targets=(Target(1.2),))
        for name in names
        for verb in ("claim", "settle")
    )


WORKLOADS = (
    Workload(
        "crowds",
        "1,000,000 future or finished rows: pages touched",
        ("postino",),
        figures("future", "finished"),
        crowds,
        most_rounds=1,
    ),
    Workload(
        "crowds-large",
        "10,000,000 finished rows and a transaction that stays open: pages touched",
        ("postino",),
        figures("finished"),
        measure_with_open_transaction,
        most_rounds=1,
        large=True,
    ),
)
