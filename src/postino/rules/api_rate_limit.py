"""Rate limit of the API as a token bucket: a rate per second and a burst. Time is an argument."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """The tokens left at an instant of a monotonic clock."""

    tokens: float
    at: float


@dataclass(frozen=True, slots=True)
class RateLimitDecision:
    """Whether the request is allowed, what is left, and in how many seconds one token, or all, are back."""

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
