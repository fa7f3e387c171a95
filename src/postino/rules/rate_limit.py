"""How many requests a caller may make: so many in a second on average, and a burst of more. Time is an argument."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """What was left at an instant, in requests and seconds of any clock that does not go back."""

    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class RateLimitDecision:
    """Whether it may, what is left afterwards, and in how many whole seconds there is one, or all, again."""

    allowed: bool
    bucket: TokenBucket
    remaining: int
    retry_after: int
    reset: int


def take_token(known: TokenBucket | None, rate: float, burst: int, now: float) -> RateLimitDecision:
    before = burst if known is None else min(burst, known.tokens + max(0.0, now - known.at) * rate)
    allowed = before >= 1
    left = before - 1 if allowed else before
    return RateLimitDecision(
        allowed=allowed,
        bucket=TokenBucket(left, now),
        remaining=int(left),
        retry_after=0 if allowed else max(1, math.ceil((1 - before) / rate)),
        reset=math.ceil((burst - left) / rate),
    )
