"""One network fails entirely: what the others publish meanwhile, beside what they publish when it is well."""

from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.press import VISIBLE, Press
from benchmarks.workload import Figure, Stage, Target, Workload

DOWN, WELL = "bluesky", ("mastodon", "telegram")
ACCOUNTS, EACH = 100, 4  # of every network
SLOW = {"seconds": {"min": 1, "max": 3}}  # as networks are, so that the machine itself sets no limit
LONGEST = 120.0


def outage(stage: Stage, installed: Installed) -> Mapping[str, float]:
    """Both in every round, so that what disturbs the machine disturbs both."""
    usual, beside = publish_beside(stage, fails=False), publish_beside(stage, fails=True)
    return {"usual": usual["rate"], "beside": beside["rate"], "share": beside["rate"] / usual["rate"],
            "asked": beside["asked"]}  # fmt: skip


def publish_beside(stage: Stage, *, fails: bool) -> dict[str, float]:
    """The network in question has as much to publish as the others, or nothing but errors to say."""
    accounts = stage.size(ACCOUNTS)
    with Press(stage.server) as press:
        for network in WELL:
            press.fault(network, "slow", endpoint=VISIBLE[network], params=SLOW)
        if fails:
            press.fault(DOWN, "drop")
        press.hand_in(dict.fromkeys((DOWN, *WELL) if fails else WELL, accounts), EACH)
        press.start()
        press.wait_until_out(WELL, LONGEST)
        seen = press.visible(*WELL)
        asked = len(press.oracle.ask(f"calls/log?network={DOWN}&limit=10000")["data"])
    taken = max(it.ended_at for it in seen if it.ended_at) - min(it.began_at for it in seen)
    return {"rate": len(seen) / taken.total_seconds(), "asked": asked}


WORKLOADS = (
    Workload(
        "outage",
        "what two networks publish while a third one fails, answers of 1 to 3 s, one worker",
        ("postino",),
        (
            Figure("usual", "published without the third one", "posts/s", True),
            Figure("beside", "published while it fails", "posts/s", True),
            Figure("share", "the one of the other", "×", True, (Target(0.9),)),
            Figure("asked", "calls to the one that fails", "calls", targets=(Target(60),)),
        ),
        outage,
    ),
)
