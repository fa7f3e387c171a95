"""Refusals are logged at a bounded rate, and those left out are counted."""

from __future__ import annotations

import structlog

from postino.auth.api_keys import PREFIX, VISIBLE, read_prefix
from postino.auth.refusal_log import ALTOGETHER, MAX_ADDRESSES, PER_ADDRESS, RefusalLog


class Seconds:
    """A monotonic clock that the test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_address_cannot_fill_the_log_and_what_is_left_out_is_counted() -> None:
    clock = Seconds()
    refusals = RefusalLog(clock)
    with structlog.testing.capture_logs() as logs:
        for _ in range(1000):
            refusals.warn("api.refused", "192.0.2.7", status=401)
        assert len(logs) == PER_ADDRESS.burst
        clock.now += 1 / PER_ADDRESS.rate
        refusals.warn("api.refused", "192.0.2.7", status=401)
        refusals.warn("api.refused", "192.0.2.8", status=403)
    assert [(line["status"], line["address"], line.get("skipped")) for line in logs[-2:]] == [
        (401, "192.0.2.7", 1000 - PER_ADDRESS.burst),
        (403, "192.0.2.8", None),
    ]


def test_one_ipv6_network_counts_as_one_address() -> None:
    refusals = RefusalLog(Seconds())
    with structlog.testing.capture_logs() as logs:
        for number in range(100):
            refusals.warn("api.refused", f"2001:db8::{number:x}")
    assert len(logs) == PER_ADDRESS.burst


def test_many_addresses_cannot_fill_the_log_or_the_memory() -> None:
    clock = Seconds()
    refusals = RefusalLog(clock)
    with structlog.testing.capture_logs() as logs:
        for number in range(5000):
            refusals.warn("api.refused", f"198.51.{number // 250}.{number % 250}")
    assert len(logs) == ALTOGETHER.burst
    assert refusals.skipped == 5000 - ALTOGETHER.burst
    assert len(refusals.addresses) <= MAX_ADDRESSES


def test_only_the_visible_part_of_an_api_key_is_read() -> None:
    key = PREFIX + "A" * 43
    assert read_prefix(key) == key[:VISIBLE]
    for text in ("", "hunter2 is my password", PREFIX, PREFIX + "short", PREFIX + "é" * 40, PREFIX + "\x1b[2J" * 20):
        assert read_prefix(text) is None
