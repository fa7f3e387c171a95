"""Taking jobs: one transaction, one winner, closed gates left alone."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from postino.rules.gates import Closed, Known, closed
from postino.stores.records import ClaimRequest
from postino.values.job import Job, Queue


@dataclass(slots=True)
class ClaimState:
    """One claim under way: what was asked for, what may not be taken, how much room is left, and what was taken."""

    order: ClaimRequest
    known: Known
    now: datetime
    closed: Closed
    room: dict[str, int] = field(default_factory=dict)  # of capped channels
    running: Counter[tuple[str, str]] = field(default_factory=Counter)  # of capped channels, by brand
    taken: list[Job] = field(default_factory=list)

    def take(self, jobs: Sequence[Job]) -> None:
        self.taken += jobs
        for job in jobs:
            if job.channel in self.room:
                self.room[job.channel] -= 1
                self.running[job.channel, job.brand or ""] += 1

    def terms(self) -> dict[str, Any]:
        """What every claiming statement has to know."""
        order = self.order
        return {
            "worker": order.worker,
            "token": order.token,
            "limits": json.dumps(order.limits) if order.limits else None,
            "grace": order.grace,
            "taken": [job.id for job in self.taken],
        }

    def shut_in_earnest(self) -> dict[str, Any]:
        """What is closed to those that need not mind blackouts."""
        shut = closed(replace(self.known, blackouts=()), self.now)
        return {
            "shut_all": shut.everything is not None,
            "shut_channel": list(shut.channels),
            "shut_queue": [queue.value for queue in Queue if queue.label in shut.queues],
            "shut_brand": list(shut.brands),
        }

    def shut(self) -> dict[str, list[Any]]:
        """What is closed to lanes, and until when."""
        return {
            "shut_brand": list(self.closed.brands),
            "brand_until_at": list(self.closed.brands.values()),
            "shut_account": list(self.closed.accounts),
            "account_until_at": list(self.closed.accounts.values()),
        }
