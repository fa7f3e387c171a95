"""The clocks and the randomness of this process. Everything that runs jobs reads them here, so a simulation can
replace them with `use_source`.

Secrets are not made from this randomness: they need `secrets`.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # on macOS, time asleep does not count


class Source:
    """The clocks and the randomness of the system."""

    last_tick = 0  # of the newest id

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        return time.clock_gettime(BOOT_CLOCK)

    def random_fraction(self) -> float:
        return random.random()

    def random_bits(self, count: int) -> int:
        return int.from_bytes(os.urandom((count + 7) // 8), "big") >> -count % 8


_source = Source()


def now() -> datetime:
    """Return the time of this machine's clock, in UTC."""
    return _source.now()


def monotonic() -> float:
    """Return the seconds of a clock that is never set."""
    return _source.monotonic()


def uptime() -> float:
    """Return the seconds since boot. This clock is never set, and it runs while the machine sleeps."""
    return _source.uptime()


def random_fraction() -> float:
    """Return a random number from 0 up to, but not including, 1."""
    return _source.random_fraction()


def random_bits(count: int) -> int:
    """Return a random number of this many bits."""
    return _source.random_bits(count)


def random_hex() -> str:
    """Return 128 random bits as text."""
    return f"{random_bits(128):032x}"


def take_ticks(count: int) -> int:
    """Return the first of `count` ticks, each of a 4096th of a millisecond. No tick is returned twice."""
    first = max((round(now().timestamp() * 1_000_000) << 12) // 1_000, _source.last_tick + 1)
    _source.last_tick = first + count - 1
    return first


@contextmanager
def use_source(source: Source) -> Iterator[None]:
    """Read all clocks and all randomness from this source until the end of the block."""
    global _source
    before, _source = _source, source
    try:
        yield
    finally:
        _source = before
