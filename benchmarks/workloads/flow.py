"""Publish 1,000 posts with one worker while networks take 2 to 10 s to respond, and compare with the ideal time."""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence

from benchmarks.install import Installed
from benchmarks.publishing_trial import VISIBLE, PublishingTrial
from benchmarks.workload import Figure, Stage, Target, Workload
from postino.config import PublishingConfig
from postino.providers.registry import load_built_in
from tests.gates.call_log import LoggedCall

POSTS, ACCOUNTS = 1_000, 200
SLOW = {"seconds": {"min": 2, "max": 10}}
LONGEST = 300.0
CAP = PublishingConfig().cap
NETWORKS = tuple(load_built_in().providers)


def flow(stage: Stage, installed: Installed) -> Mapping[str, float]:
    """Publish on every network that Postino supports."""
    networks = NETWORKS
    accounts, each = stage.size(ACCOUNTS), POSTS // ACCOUNTS
    shared = {name: len(range(place, accounts, len(networks))) for place, name in enumerate(networks)}
    with PublishingTrial(stage.server) as trial:
        for network in networks:
            trial.fault(network, "slow", endpoint=VISIBLE[network], params=SLOW)
        trial.open_accounts(shared)
        trial.schedule(each)
        trial.start()
        trial.wait_until_published(networks, LONGEST)
        published = trial.list_visible_calls(*networks)
        memory = trial.most_memory
    began_at = min(it.began_at for it in published)
    taken = max(it.ended_at for it in published if it.ended_at) - began_at
    ideal = max(ideal_seconds([it for it in published if it.network == network], CAP) for network in networks)
    return {
        "ideal": taken.total_seconds() / ideal,
        "rate": 60 * len(published) / taken.total_seconds(),
        "lost": accounts * each - len(published),
        "memory": memory,
    }


def ideal_seconds(published: Sequence[LoggedCall], cap: int) -> float:
    """Return the ideal time for the same response times: free slots go to idle accounts with most posts left."""
    left: dict[str | None, list[float]] = defaultdict(list)
    for it in published:
        left[it.account].append((it.ended_at - it.began_at).total_seconds() if it.ended_at else 0.0)
    running: list[tuple[float, str | None]] = []
    now, idle = 0.0, set(left)
    while idle or running:
        while idle and len(running) < cap:
            account = max(idle, key=lambda name: (sum(left[name]), name))
            idle.remove(account)
            heapq.heappush(running, (now + left[account].pop(0), account))
        now, account = heapq.heappop(running)
        if left[account]:
            idle.add(account)
    return now


WORKLOADS = (
    Workload(
        "flow",
        f"{POSTS:,} posts, responses of 2 to 10 s, {ACCOUNTS} accounts on {len(NETWORKS)} networks, one worker",
        ("postino",),
        (
            Figure("ideal", "time taken, in multiples of the ideal", "×", targets=(Target(1.1),)),
            Figure("rate", "published", "posts/min", True, (Target(200),)),
            Figure("lost", "not published", "posts", targets=(Target(0),)),
            Figure("memory", "resident memory of the worker", "MB", targets=(Target(150),)),
        ),
        flow,
        most_rounds=2,
    ),
)
