"""The cost of the witness for each post: its row in the intent's transaction, and its file, which is synced to disk.

The worker publishes the same number of posts several times on one database: with the witness, with the row only, and
without both. The sandbox responds at once, so that the worker, the database and the disk set the rate.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import psutil

from benchmarks.install import Installed
from benchmarks.publishing_trial import VISIBLE, PublishingTrial
from benchmarks.service import STORES
from benchmarks.trial import Failed, Store
from benchmarks.witness_worker import MODES
from benchmarks.workload import Figure, Stage, Target, Workload

ACCOUNTS, EACH = 200, 3  # accounts of each network, posts of each account in a turn
WARM_UP = 1  # post of each account; Telegram takes 20 a minute
LONGEST = 180.0
TURNS = (*MODES, *reversed(MODES))  # each mode early and late: the database grows
TRUST = "[witness]\ntrust_database = true\n"  # a worker without a file knows no database


@dataclass
class Total:
    """The total time of the turns of one mode."""

    posts: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.posts / self.seconds

    @property
    def milliseconds_each(self) -> float:
        return 1000 * self.processor_seconds / self.posts


def measure_witness(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    totals = {mode: Total() for mode in MODES}
    with PublishingTrial(stage.server, store) as trial:
        trial.add_settings(TRUST)
        trial.open_accounts(dict.fromkeys(VISIBLE, max(1, int(ACCOUNTS * stage.scale))))
        take_turn(trial, "full", WARM_UP, Total())
        for mode in TURNS:
            take_turn(trial, mode, EACH, totals[mode])
    full, row, none = (totals[mode] for mode in MODES)
    return {
        "rate": full.rate, "row": row.rate, "none": none.rate, "share": full.rate / none.rate,
        "processor": full.milliseconds_each, "processor-none": none.milliseconds_each,
    }  # fmt: skip


def take_turn(trial: PublishingTrial, mode: str, each: int, total: Total) -> None:
    """Publish posts of each account with a new worker. Its start and its end do not count."""
    before = max((it.number for it in trial.oracle.list_live_posts()), default=0)
    trial.schedule(each)
    worker = trial.start((sys.executable, "-m", "benchmarks.witness_worker", mode))
    trial.wait_until_published(tuple(VISIBLE), LONGEST)
    processor = psutil.Process(worker.pid).cpu_times()
    trial.stop(worker)
    times = [datetime.fromisoformat(it.published_at) for it in trial.oracle.list_live_posts(before)]
    if len(times) != each * len(trial.account_ids):
        raise Failed(f"{len(times)} of {each * len(trial.account_ids)} posts were published")
    total.posts += len(times)
    total.seconds += (max(times) - min(times)).total_seconds()
    total.processor_seconds += processor.user + processor.system


FIGURES = (
    Figure("rate", "published with the witness", "posts/s", True),
    Figure("row", "published with its row in the database, without its file", "posts/s", True),
    Figure("none", "published without both", "posts/s", True),
    Figure("share", "published with the witness, as a multiple of the rate without it", "×", True, (Target(0.95),)),
    Figure("processor", "processor time of the worker for each post, its start included", "ms"),
    Figure("processor-none", "the same without the witness", "ms"),
)
WORKLOADS = tuple(
    Workload(
        f"witness{ending}",
        f"one worker publishes {len(VISIBLE) * ACCOUNTS * EACH:,} posts with and without its witness, {title}",
        ("postino",),
        FIGURES,
        partial(measure_witness, store=store),
        most_rounds=3,
    )
    for store, (ending, title) in STORES.items()
)
