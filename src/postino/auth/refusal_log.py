"""Log refused requests and sign-ins at a bounded rate: an attacker can neither fill the log nor stay hidden."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from postino.auth.addresses import group_address
from postino.rules.api_rate_limit import TokenBucket, take_token

log = structlog.get_logger("postino.refusals")
REQUEST_REFUSED, SIGN_IN_REFUSED = "api.refused", "sign_in.refused"
MAX_ADDRESSES = 1000


@dataclass(frozen=True, slots=True)
class LogLimit:
    """How many lines at once, and per second after that."""

    burst: int
    rate: float


PER_ADDRESS = LogLimit(10, 0.1)
ALTOGETHER = LogLimit(100, 1.0)


class RefusalLog:
    """Writes lines for one process. `skipped` of a line is the number of refusals before it that were not logged."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.addresses: OrderedDict[str, TokenBucket] = OrderedDict()
        self.all: TokenBucket | None = None
        self.skipped = 0

    def warn(self, event: str, address: str, **fields: Any) -> None:
        """Log a refusal, or count it if there were too many lines lately."""
        if not self.is_allowed(group_address(address)):
            self.skipped += 1
            return
        more = {"skipped": self.skipped} if self.skipped else {}
        self.skipped = 0
        log.warning(event, address=address, **fields, **more)

    def is_allowed(self, group: str) -> bool:
        now = self.clock()
        ours = take_token(self.addresses.pop(group, None), PER_ADDRESS.rate, PER_ADDRESS.burst, now)
        self.addresses[group] = ours.bucket
        if len(self.addresses) > MAX_ADDRESSES:
            self.addresses.popitem(last=False)
        if not ours.allowed:
            return False
        decision = take_token(self.all, ALTOGETHER.rate, ALTOGETHER.burst, now)
        self.all = decision.bucket
        return decision.allowed
