"""Publish to two networks while a third one fails, and compare with the rate without the third one."""

from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.publishing_trial import VISIBLE, PublishingTrial
from benchmarks.workload import Figure, Stage, Target, Workload

DOWN, WELL = "bluesky", ("mastodon", "telegram")
ACCOUNTS, EACH = 100, 4  # of every network
SLOW = {"seconds": {"min": 1, "max": 3}}  # as networks are, so that the machine itself sets no limit
LONGEST = 120.0


def outage(stage: Stage, installed: Installed) -> Mapping[str, float]:
    """Measure both cases in every round, so that other load on the machine affects both."""
    usual, beside = publish_beside(stage, fails=False), publish_beside(stage, fails=True)
    return {"usual": usual["rate"], "beside": beside["rate"], "share": beside["rate"] / usual["rate"],
            "asked": beside["asked"]}  # fmt: skip


def publish_beside(stage: Stage, *, fails: bool) -> dict[str, float]:
    """Publish to the two networks; with `fails`, the third one has as many posts and drops every call."""
    accounts = stage.size(ACCOUNTS)
    with PublishingTrial(stage.server) as trial:
        for network in WELL:
            trial.fault(network, "slow", endpoint=VISIBLE[network], params=SLOW)
        if fails:
            trial.fault(DOWN, "drop")
        trial.open_accounts(dict.fromkeys((DOWN, *WELL) if fails else WELL, accounts))
        trial.schedule(EACH)
        trial.start()
        trial.wait_until_published(WELL, LONGEST)
        calls = trial.list_visible_calls(*WELL)
        asked = len(trial.oracle.ask(f"calls/log?network={DOWN}&limit=10000")["data"])
    taken = max(it.ended_at for it in calls if it.ended_at) - min(it.began_at for it in calls)
    return {"rate": len(calls) / taken.total_seconds(), "asked": asked}


WORKLOADS = (
    Workload(
        "outage",
        "posts to two networks while a third one fails, responses of 1 to 3 s, one worker",
        ("postino",),
        (
            Figure("usual", "published without the third network", "posts/s", True),
            Figure("beside", "published while it fails", "posts/s", True),
            Figure("share", "ratio of both rates", "×", True, (Target(0.9),)),
            Figure("asked", "calls to the failing network", "calls", targets=(Target(60),)),
        ),
        outage,
    ),
)
