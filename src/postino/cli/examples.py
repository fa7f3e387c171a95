"""What `postino up` puts into the queue: a handful of jobs, one for each thing that can happen to a job."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from postino.engine.specs import JobSpec

TYPE = CHANNEL = "example"


@dataclass(frozen=True, slots=True)
class Example:
    """How an example job goes: after so many seconds, and so many failures, this ending."""

    title: str
    ending: str = "done"
    seconds: float = 0.2
    failures: int = 0


def examples(now: datetime) -> list[JobSpec]:
    return [
        spec(Example("a post"), queue="low"),
        spec(Example("a post in a hurry"), queue="high"),
        spec(Example("one account: first", seconds=0.8), account="trattoria"),
        spec(Example("one account: second", seconds=0.8), account="trattoria"),
        spec(Example("network away, once", "away", failures=1)),
        spec(Example("connection lost, twice", "lost", failures=2)),
        spec(Example("refused for good", "reject")),
        spec(Example("no answer after sending", "unknown", seconds=0.5)),
        spec(Example("planned in 3 s"), at=now + timedelta(seconds=3)),
    ]


def spec(
    example: Example, *, queue: str = "default", account: str | None = None, at: datetime | None = None
) -> JobSpec:
    return JobSpec(TYPE, example, at=at, queue=queue, channel=CHANNEL, account=account)
