"""Statistics of finished posts: how many, how late, and the success rate. The posts are an argument."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from postino.values.job import State

ON_TIME = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class EndedPost:
    """A finished post: its network, final state, and delay in seconds."""

    network: str
    state: State
    late_by: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsSummary:
    """Rates are between 0 and 1. Rates and percentiles without data are None."""

    published: int
    failed: int
    cancelled: int
    per_minute: float
    success_rate: float | None
    on_time_rate: float | None
    late_p50: float | None
    late_p95: float | None
    late_p99: float | None


def summarize(ended: Sequence[EndedPost], window: timedelta) -> StatsSummary:
    late = sorted(max(0.0, one.late_by) for one in ended if one.state is State.COMPLETED)
    failed = sum(one.state is State.FAILED for one in ended)
    on_time = sum(seconds <= ON_TIME.total_seconds() for seconds in late)
    return StatsSummary(
        published=len(late),
        failed=failed,
        cancelled=sum(one.state is State.CANCELLED for one in ended),
        per_minute=round(len(late) / max(window.total_seconds() / 60, 1 / 60), 3),
        success_rate=compute_share(len(late), len(late) + failed),
        on_time_rate=compute_share(on_time, len(late)),
        late_p50=compute_percentile(late, 50),
        late_p95=compute_percentile(late, 95),
        late_p99=compute_percentile(late, 99),
    )


def summarize_by_network(ended: Sequence[EndedPost], window: timedelta) -> dict[str, StatsSummary]:
    names = sorted({one.network for one in ended})
    return {name: summarize([one for one in ended if one.network == name], window) for name in names}


def compute_share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def compute_percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the smallest value that `percent` % of the values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None
