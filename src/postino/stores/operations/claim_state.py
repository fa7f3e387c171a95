"""The state of one claim while its statements run."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from postino.rules.claim_order import compute_brand_limit
from postino.rules.gates import ClosedGates, GateSources, compute_closed_gates
from postino.stores.records import ClaimRequest
from postino.values.job import Job, Queue


@dataclass(slots=True)
class ClaimState:
    """One claim under way: the request, the closed gates, the room left on capped channels, the jobs claimed."""

    request: ClaimRequest
    gate_sources: GateSources
    now: datetime
    closed: ClosedGates
    room: dict[str, int] = field(default_factory=dict)  # of capped channels
    running: Counter[tuple[str, str]] = field(default_factory=Counter)  # of capped channels, by brand
    claimed: list[Job] = field(default_factory=list)
    is_first: bool = True  # what goes before all others is being claimed, or may be

    def add_jobs(self, jobs: Sequence[Job]) -> None:
        """Count claimed jobs against the room of their channels."""
        self.claimed += jobs
        for job in jobs:
            if job.channel in self.room:
                self.room[job.channel] -= 1
                self.running[job.channel, job.brand or ""] += 1

    def list_brand_limits(self) -> dict[str, int]:
        """Return how many slots of each capped channel one brand may hold with what goes first."""
        caps = self.closed.caps
        return {channel: compute_brand_limit(caps[channel], is_first=self.is_first) for channel in self.room}

    def make_claim_params(self) -> dict[str, Any]:
        """Return the parameters of every statement that claims."""
        request = self.request
        return {
            "worker": request.worker,
            "token": request.token,
            "limits": json.dumps([asdict(limit) for limit in request.limits]) if request.limits else None,
            "grace": request.grace,
            "taken": [job.id for job in self.claimed],
        }

    def make_started_params(self) -> dict[str, Any]:
        """Return the gates that also hold jobs that ignore blackouts, as query parameters."""
        shut = compute_closed_gates(replace(self.gate_sources, blackouts=()), self.now)
        return {
            "closed_all": shut.everything is not None,
            "closed_channel": list(shut.channels),
            "closed_queue": [queue.value for queue in Queue if queue.label in shut.queues],
            "closed_brand": list(shut.brands),
        }

    def make_lane_params(self) -> dict[str, list[Any]]:
        """Return the closed brands and accounts, and until when, as query parameters."""
        return make_lane_params(self.closed)


def make_lane_params(closed: ClosedGates) -> dict[str, list[Any]]:
    """Return the closed brands and accounts, and until when, as query parameters."""
    return {
        "closed_brand": list(closed.brands),
        "brand_until_at": list(closed.brands.values()),
        "closed_account": list(closed.accounts),
        "account_until_at": list(closed.accounts.values()),
    }
