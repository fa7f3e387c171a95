"""Circuit breakers: tables of transitions, and properties for any sequence of responses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postino.errors import WrongUse
from postino.rules.circuit_breaker import (
    ADR013_POLICY,
    DEFAULT_POLICY,
    OPENAI_POLICY,
    PROFILES,
    Breaker,
    BreakerPolicy,
    CircuitState,
    _compute_open_duration,
    close_manually,
    get_call_limit,
    get_state,
    open_manually,
    parse_policy,
    record_result,
    reset_breaker,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
NEW = Breaker(service="bluesky")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def record_results(
    results: Iterable[tuple[float, bool]], policy: BreakerPolicy = DEFAULT_POLICY, breaker: Breaker = NEW
) -> Breaker:
    """Return the breaker after these responses, each at its second."""
    for second, healthy in results:
        breaker = record_result(breaker, healthy, policy, at(second), f"failed at {second}")
    return breaker


def bad(*seconds: float) -> list[tuple[float, bool]]:
    return [(second, False) for second in seconds]


OPENED = record_results(bad(0, 1, 2, 3, 4))  # until second 124
HALF = replace(OPENED, state=CircuitState.HALF_OPEN, until_at=None)


@pytest.mark.parametrize(
    ("policy", "results", "state"),
    [
        (DEFAULT_POLICY, [], CircuitState.CLOSED), (DEFAULT_POLICY, bad(0, 1, 2, 3), CircuitState.CLOSED),
        (DEFAULT_POLICY, bad(0, 1, 2, 3, 4), CircuitState.OPEN),
        (DEFAULT_POLICY, bad(0, 0, 0, 0, 0), CircuitState.OPEN),
        (DEFAULT_POLICY, bad(0, 15, 30, 45, 60), CircuitState.OPEN),
        (DEFAULT_POLICY, bad(0, 15, 30, 45, 60.001), CircuitState.CLOSED),
        (DEFAULT_POLICY, bad(0, 15, 30, 45, 61, 62), CircuitState.OPEN),
        (DEFAULT_POLICY, bad(*range(0, 1000, 16)), CircuitState.CLOSED),
        (DEFAULT_POLICY, [*bad(0, 1, 2, 3), (4, True), *bad(5)], CircuitState.OPEN),
        (OPENAI_POLICY, bad(0, 1), CircuitState.CLOSED), (OPENAI_POLICY, bad(0, 1, 2), CircuitState.OPEN),
        (ADR013_POLICY, bad(0, 1000, 2000, 3000), CircuitState.CLOSED),
        (ADR013_POLICY, bad(0, 1000, 2000, 3000, 4000), CircuitState.OPEN),
        (ADR013_POLICY, [*bad(0, 1, 2, 3), (4, True), *bad(5)], CircuitState.CLOSED),
        (ADR013_POLICY, [*bad(0, 1, 2, 3), (4, True), *bad(5, 6, 7, 8, 9)], CircuitState.OPEN),
        (BreakerPolicy(failure_threshold=1), bad(0), CircuitState.OPEN),
    ],
)  # fmt: skip
def test_enough_failures_in_the_window_or_in_a_row_open_the_circuit(
    policy: BreakerPolicy, results: list[tuple[float, bool]], state: CircuitState
) -> None:
    assert record_results(results, policy).state is state


@pytest.mark.parametrize(
    ("breaker", "second", "state", "calls"),
    [
        (NEW, 0, CircuitState.CLOSED, None),
        (OPENED, 4, CircuitState.OPEN, 0),
        (OPENED, 123.999, CircuitState.OPEN, 0),
        (OPENED, 124, CircuitState.HALF_OPEN, 1),
        (OPENED, 9e6, CircuitState.HALF_OPEN, 1),
        (replace(OPENED, probes=2), 124, CircuitState.HALF_OPEN, 2),
        (HALF, -9e6, CircuitState.HALF_OPEN, 1),
        (replace(OPENED, until_at=None), 9e6, CircuitState.OPEN, 0),
        (replace(OPENED, since_at=None), 0, CircuitState.OPEN, 0),
    ],
)
def test_an_open_circuit_allows_no_calls_until_its_end_then_only_probes(
    breaker: Breaker, second: float, state: CircuitState, calls: int | None
) -> None:
    assert (get_state(breaker, at(second)), get_call_limit(breaker, at(second))) == (state, calls)


def test_an_open_circuit_stores_since_when_until_when_and_why() -> None:
    breaker = record_results(bad(0, 1, 2, 3, 4))
    assert breaker == Breaker(
        service="bluesky",
        state=CircuitState.OPEN,
        since_at=at(4),
        until_at=at(124),
        failures=tuple(at(second) for second in range(5)),
        trips=1,
        reason="failed at 4",
    )


@pytest.mark.parametrize("breaker", [OPENED, HALF, replace(OPENED, probes=2)])
def test_one_success_closes_a_half_open_circuit_and_clears_its_failures(breaker: Breaker) -> None:
    assert record_result(breaker, True, DEFAULT_POLICY, at(130)) == replace(
        NEW, since_at=at(130), probes=breaker.probes
    )


@pytest.mark.parametrize("breaker", [OPENED, HALF])
def test_one_failure_opens_a_half_open_circuit_for_twice_as_long(breaker: Breaker) -> None:
    again = record_result(breaker, False, DEFAULT_POLICY, at(130), "still down")
    assert (again.state, again.since_at, again.until_at) == (CircuitState.OPEN, at(130), at(370))
    assert (again.trips, again.reason, again.failures) == (2, "still down", (at(130),))


def test_only_the_first_failed_probe_extends_the_open_timeout() -> None:
    first = record_result(OPENED, False, ADR013_POLICY, at(130))
    assert record_result(first, False, ADR013_POLICY, at(130)) is first


@pytest.mark.parametrize(
    ("policy", "durations"),
    [
        (DEFAULT_POLICY, [120, 240, 300, 300]),
        (OPENAI_POLICY, [180, 300, 300]),
        (ADR013_POLICY, [300, 300, 300]),
        (BreakerPolicy(open_timeout=timedelta(seconds=600)), [600, 600]),
        (BreakerPolicy(open_timeout=timedelta(seconds=1)), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
    ],
)
def test_the_open_timeout_doubles_up_to_its_maximum(policy: BreakerPolicy, durations: list[float]) -> None:
    breaker, now, lasted = NEW, NOW, []
    for _ in range(policy.failure_threshold - 1):
        breaker = record_result(breaker, False, policy, now)
    for _ in durations:
        breaker = record_result(breaker, False, policy, now)
        assert breaker.since_at is not None
        assert breaker.until_at is not None
        lasted.append((breaker.until_at - breaker.since_at).total_seconds())
        now = breaker.until_at
    assert lasted == durations


def test_a_successful_close_resets_the_open_timeout() -> None:
    results = [*bad(124), (364, True), *bad(400, 401, 402, 403, 404)]
    again = record_results(results, breaker=OPENED)
    assert (again.state, again.until_at, again.trips) == (CircuitState.OPEN, at(524), 1)


BY_HAND = open_manually(NEW, NOW, until_at=at(200), reason="maintenance", probes=1)


@pytest.mark.parametrize("healthy", [True, False])
@pytest.mark.parametrize("breaker", [OPENED, BY_HAND, replace(BY_HAND, until_at=None)])
def test_responses_to_calls_sent_before_the_circuit_opened_change_nothing(breaker: Breaker, healthy: bool) -> None:
    assert record_result(breaker, healthy, DEFAULT_POLICY, at(100)) is breaker


@pytest.mark.parametrize(
    ("breaker", "policy"),
    [
        (NEW, DEFAULT_POLICY),
        (NEW, ADR013_POLICY),
        (record_results(bad(0, 1)), DEFAULT_POLICY),
        (record_results([*bad(0), (1, True)], ADR013_POLICY), ADR013_POLICY),
    ],
)
def test_a_success_on_a_closed_circuit_writes_nothing(breaker: Breaker, policy: BreakerPolicy) -> None:
    assert record_result(breaker, True, policy, at(9)) is breaker


def test_a_circuit_opened_by_hand_without_an_end_waits_for_a_person() -> None:
    breaker = open_manually(record_results(bad(0, 1)), at(5), until_at=None, reason="maintenance", probes=2)
    assert get_call_limit(breaker, at(9e7)) == 0
    assert record_result(breaker, True, DEFAULT_POLICY, at(9e7)) is breaker
    assert (breaker.since_at, breaker.reason, breaker.manual) == (at(5), "maintenance", True)
    assert close_manually(breaker, at(6)) == replace(NEW, since_at=at(6), probes=2)


def test_a_circuit_opened_by_hand_is_probed_after_its_end() -> None:
    breaker = open_manually(NEW, NOW, until_at=at(1000), reason="maintenance", probes=2)
    assert [get_call_limit(breaker, at(second)) for second in (-9e6, 0, 999.9, 1000)] == [0, 0, 0, 2]
    assert record_result(breaker, True, DEFAULT_POLICY, at(1000)) == replace(NEW, since_at=at(1000), probes=2)
    again = record_result(breaker, False, DEFAULT_POLICY, at(1000), "still down")
    assert (again.until_at, again.manual, again.reason) == (at(1120), False, "still down")


def test_closing_by_hand_keeps_the_longer_open_timeout_until_a_success() -> None:
    breaker = close_manually(OPENED, at(10))
    assert breaker == replace(NEW, since_at=at(10), trips=1)
    assert record_results(bad(11, 12, 13, 14, 15), breaker=breaker).until_at == at(15 + 240)
    assert record_results([(10, True), *bad(11, 12, 13, 14, 15)], breaker=breaker).until_at == at(15 + 120)


def test_closing_a_closed_circuit_by_hand_only_clears_its_failures() -> None:
    closed = replace(NEW, since_at=at(-50))
    assert close_manually(closed, NOW) is closed
    assert close_manually(replace(closed, failures=(NOW,)), NOW) == closed


@pytest.mark.parametrize(
    "breaker", [NEW, OPENED, HALF, open_manually(OPENED, NOW, until_at=None, reason="x", probes=9)]
)
def test_reset_returns_a_circuit_to_its_first_state(breaker: Breaker) -> None:
    assert reset_breaker(breaker) == NEW


@pytest.mark.parametrize(
    ("results", "state", "counted"),
    [
        (bad(0.002, 0.001, 0), CircuitState.CLOSED, (0, 0.001, 0.002)),
        (bad(0.004, 0.003, 0.002, 0.001, 0), CircuitState.OPEN, (0, 0.001, 0.002, 0.003, 0.004)),
        (bad(3600, 3601, 3602, 3603, 0), CircuitState.CLOSED, (0,)),
        (bad(0, 20, 40, 60, -1), CircuitState.CLOSED, (-1, 0, 20, 40)),
        (bad(0, 55, 10), CircuitState.CLOSED, (0, 10, 55)),
    ],
)
def test_a_clock_set_back_neither_loses_failures_nor_keeps_them_for_ever(
    results: list[tuple[float, bool]], state: CircuitState, counted: tuple[float, ...]
) -> None:
    breaker = record_results(results)
    assert (breaker.state, breaker.failures) == (state, tuple(at(second) for second in counted))


@pytest.mark.parametrize(
    ("second", "state"),
    [
        (3.9, CircuitState.OPEN),
        (-116, CircuitState.OPEN),
        (-117, CircuitState.HALF_OPEN),
        (-36000, CircuitState.HALF_OPEN),
    ],
)
def test_a_clock_set_back_far_does_not_keep_a_circuit_open(second: float, state: CircuitState) -> None:
    assert get_state(OPENED, at(second)) is state


@pytest.mark.parametrize(
    ("service", "settings", "policy"),
    [
        ("bluesky", None, DEFAULT_POLICY), ("bluesky", {}, DEFAULT_POLICY), ("openai", None, OPENAI_POLICY),
        ("openai", {}, OPENAI_POLICY),
        ("openai", {"profile": "default"}, DEFAULT_POLICY),
        ("bluesky", {"profile": "adr013"}, ADR013_POLICY),
        ("openai", {"window": 30}, replace(OPENAI_POLICY, window=timedelta(seconds=30))),
        (
            "bluesky",
            {"half_open_max_attempts": 3, "profile": "adr013", "consecutive": False},
            replace(ADR013_POLICY, half_open_max_attempts=3, consecutive=False),
        ),
        (
            "bluesky",
            {"failure_threshold": 7, "open_timeout": 0.5, "max_open_timeout": 8},
            replace(DEFAULT_POLICY, failure_threshold=7, open_timeout=at(0.5) - NOW, max_open_timeout=at(8) - NOW),
        ),
    ],
)  # fmt: skip
def test_settings_override_the_profile_which_overrides_the_service_policy(
    service: str, settings: dict[str, Any] | None, policy: BreakerPolicy
) -> None:
    assert parse_policy(service, settings) == policy


def test_the_profiles_have_the_documented_values() -> None:
    def numbers(policy: BreakerPolicy) -> list[float]:
        values = [getattr(policy, entry.name) for entry in fields(policy)]
        return [value.total_seconds() if isinstance(value, timedelta) else value for value in values]

    assert {name: numbers(policy) for name, policy in PROFILES.items()} == {
        "default": [5, 60, 120, 1, 300, False],
        "openai": [3, 60, 180, 1, 300, False],
        "adr013": [5, 60, 300, 2, 300, True],
    }


SETTINGS = [entry.name for entry in fields(BreakerPolicy)]
COUNTS = ["failure_threshold", "half_open_max_attempts"]
TIMES = ["window", "open_timeout", "max_open_timeout"]
UNTIMELY = [0, -1, 1e-9, 4e7, float("inf"), float("nan"), True, "60", None, timedelta(seconds=60)]
WRONG = {
    "a whole number from 1 to 1000": (COUNTS, [0, -1, 1001, 2.0, True, "5", None, []]),
    "a number of seconds from 0.001 to 31622400": (TIMES, UNTIMELY),
    "true or false": (["consecutive"], [0, 1, "yes", None]),
}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [(name, value, expected) for expected, (names, values) in WRONG.items() for name in names for value in values],
)
def test_an_invalid_setting_is_refused_with_its_field(field: str, value: Any, expected: str) -> None:
    with pytest.raises(WrongUse) as error:
        parse_policy("bluesky", {field: value})
    assert str(error.value) == f"{field} of bluesky: expected {expected}, not {value!r}."
    assert error.value.field == field


@pytest.mark.parametrize(
    ("settings", "field", "message"),
    [
        ({"windoe": 5}, "windoe", "windoe of bluesky: unknown circuit breaker setting (value 5). Did you mean window?"),
        (
            {"x": 5},
            "x",
            f"x of bluesky: unknown circuit breaker setting (value 5). Use one of: {', '.join(SETTINGS)}, profile.",
        ),
        ({"profile": "adr13"}, "profile", "profile of bluesky: profile 'adr13' does not exist. Did you mean adr013?"),
        (
            {"profile": 7},
            "profile",
            "profile of bluesky: profile 7 does not exist. Use one of: default, openai, adr013.",
        ),
        (5, "breaker", "breaker of bluesky: expected a table of settings, not 5."),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_known_one(settings: Any, field: str, message: str) -> None:
    with pytest.raises(WrongUse) as error:
        parse_policy("bluesky", settings)
    assert (str(error.value), error.value.field) == (message, field)


DURATIONS = st.floats(0.001, 400).map(lambda seconds: timedelta(seconds=seconds))
POLICIES = st.sampled_from([DEFAULT_POLICY, OPENAI_POLICY, ADR013_POLICY]) | st.builds(
    BreakerPolicy,
    failure_threshold=st.integers(1, 8),
    window=DURATIONS,
    open_timeout=DURATIONS,
    half_open_max_attempts=st.integers(1, 4),
    max_open_timeout=DURATIONS,
    consecutive=st.booleans(),
)
PAUSES = st.floats(0, 5) | st.floats(0, 400) | st.floats(-5, 0) | st.floats(-4000, 0)
RESULTS = st.lists(st.tuples(PAUSES, st.sampled_from([True, False, False, False])), max_size=60)


def replay_results(
    results: list[tuple[float, bool]], policy: BreakerPolicy
) -> Iterable[tuple[Breaker, bool, datetime]]:
    """Yield the breaker before each response, the response and its time; the clock may go back."""
    breaker, now = NEW, NOW
    for pause, healthy in results:
        now += timedelta(seconds=pause)
        yield breaker, healthy, now
        breaker = record_result(breaker, healthy, policy, now)


@given(POLICIES, RESULTS)
def test_a_circuit_opens_at_the_threshold_or_after_a_failed_probe(
    policy: BreakerPolicy, results: list[tuple[float, bool]]
) -> None:
    failures_so_far: list[datetime] = []
    for before, healthy, now in replay_results(results, policy):
        state, then = get_state(before, now), record_result(before, healthy, policy, now)
        if state is CircuitState.CLOSED:
            failures_so_far = ([] if policy.consecutive else failures_so_far) if healthy else [*failures_so_far, now]
        if then.state is CircuitState.OPEN and state is CircuitState.CLOSED:
            counted = then.failures
            assert len(counted) == policy.failure_threshold
            assert all(failures_so_far.count(one) >= counted.count(one) for one in counted)
            assert policy.consecutive or max(counted) - min(counted) <= policy.window
        if then.state is not CircuitState.CLOSED or state is not CircuitState.CLOSED:
            failures_so_far = []


@given(POLICIES, RESULTS)
def test_no_response_changes_an_open_circuit_or_allows_a_call(
    policy: BreakerPolicy, results: list[tuple[float, bool]]
) -> None:
    for before, healthy, now in replay_results(results, policy):
        then = record_result(before, healthy, policy, now)
        if get_state(before, now) is CircuitState.OPEN:
            assert then is before
            assert get_call_limit(before, now) == 0
        if then.state is CircuitState.OPEN and then is not before:
            assert then.until_at is not None
            assert get_call_limit(then, now) == 0
            assert get_call_limit(then, then.until_at) == policy.half_open_max_attempts


@given(POLICIES, RESULTS)
def test_stored_failures_are_bounded_and_only_a_change_is_written(
    policy: BreakerPolicy, results: list[tuple[float, bool]]
) -> None:
    for before, healthy, now in replay_results(results, policy):
        then = record_result(before, healthy, policy, now)
        assert (then is before) == (then == before)
        assert len(then.failures) <= policy.failure_threshold
        assert list(then.failures) == sorted(then.failures)
        assert len(then.failures) < policy.failure_threshold or then.state is CircuitState.OPEN
        assert (then.until_at is None) == (then.state is CircuitState.CLOSED) == (then.trips == 0)


@given(POLICIES, RESULTS)
def test_every_circuit_becomes_half_open_and_one_success_closes_it(
    policy: BreakerPolicy, results: list[tuple[float, bool]]
) -> None:
    for before, healthy, now in replay_results(results, policy):
        then = record_result(before, healthy, policy, now)
        later = now + 2 * max(policy.max_open_timeout, policy.open_timeout)  # twice: the clock may have gone back
        assert get_state(then, later) is not CircuitState.OPEN
        assert record_result(then, True, policy, later).state is CircuitState.CLOSED


@given(POLICIES, st.integers(1, 10**9))
@example(BreakerPolicy(open_timeout=timedelta(days=366), max_open_timeout=timedelta(days=366)), 10**6)
def test_the_open_timeout_never_shrinks_and_never_exceeds_its_maximum(policy: BreakerPolicy, trips: int) -> None:
    assert _compute_open_duration(1, policy) == policy.open_timeout
    assert policy.open_timeout <= _compute_open_duration(trips, policy) <= _compute_open_duration(trips + 1, policy)
    assert _compute_open_duration(trips + 1, policy) <= max(policy.max_open_timeout, policy.open_timeout)
