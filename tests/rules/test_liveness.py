"""After how many polls a silent worker counts as dead, whatever the observer's own gaps, as a table."""

from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.liveness import Silence, observe

LEASE = 20.0
LONGEST_GAP = 10.0
OUTAGE = 3600.0


def count_silence(*gaps: float) -> float:
    silence = Silence(heartbeats=7)
    for gap in gaps:
        silence = observe(silence, 7, gap, LONGEST_GAP)
    return silence.seconds


@pytest.mark.parametrize(
    ("gaps", "seconds"),
    [
        ([], 0),
        ([5], 5),
        ([5, 5, 5], 15),
        ([LONGEST_GAP, LONGEST_GAP], 20),
        ([OUTAGE], 0),
        ([5, OUTAGE, 5], 10),
        ([11, 5], 5),  # one slow poll looks like an outage
        ([11, 11, 11, 11], 30),  # an observer that is always slow finds dead workers too
        ([OUTAGE, OUTAGE], 10),  # two outages, and no heartbeat between them
        ([OUTAGE, 5, OUTAGE, 5], 20),
    ],
)
def test_silence_counts_only_while_the_observer_watched(gaps: list[float], seconds: float) -> None:
    assert count_silence(*gaps) == seconds


@pytest.mark.parametrize("gaps", [[], [OUTAGE], [OUTAGE, OUTAGE], [5, 5, 5]])
def test_a_heartbeat_ends_the_silence_and_what_was_forgiven(gaps: list[float]) -> None:
    silence = Silence(heartbeats=7)
    for gap in gaps:
        silence = observe(silence, 7, gap, LONGEST_GAP)
    assert observe(silence, 8, 5, LONGEST_GAP) == Silence(heartbeats=8)


def test_an_unknown_worker_has_been_silent_for_no_time() -> None:
    assert observe(None, 0, OUTAGE, LONGEST_GAP) == Silence(heartbeats=0)


@given(gaps=st.lists(st.floats(0.1, 2 * OUTAGE), min_size=1, max_size=30))
def test_every_observer_finds_a_dead_worker_in_the_end(gaps: list[float]) -> None:
    polls = chain.from_iterable(repeat(gaps))
    silence, watched = Silence(heartbeats=7), 0.0
    while silence.seconds <= LEASE:
        gap = next(polls)
        watched += min(gap, LONGEST_GAP)
        silence = observe(silence, 7, gap, LONGEST_GAP)
        assert watched <= LEASE + 3 * LONGEST_GAP
