"""A server that speaks Mastodon's API and ignores its key: kills and lost responses publish nothing twice."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from postino import State
from tests.crash.publishing.faults import LOST_REQUEST, LOST_RESPONSE, Fault
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import list_shapes
from tests.crash.publishing.sweep import Sweep
from tests.crash.publishing.verdict import judge

UNSENT = ("record_intents.after", "send.before")
SENT = ("send.after", "record_receipt.before")
ATTEMPTS = 3  # so that a person is asked soon


@pytest.mark.crash
async def test_post_in_doubt_is_found_or_left_to_a_person(harness: PublishingHarness) -> None:
    sweep, absent = Sweep(harness), set()
    with lookalike(harness.oracle):
        for shape in list_shapes("mastodon"):
            for point in (*UNSENT, *SENT):
                await sweep.kill(shape, point)
                if point in UNSENT:
                    absent.add(harness.posts[-1].id)
        for shape in list_shapes("mastodon"):
            await harness.post(shape, LOST_RESPONSE, Fault(shape.visible, LOST_RESPONSE))
            absent.add((await harness.post(shape, LOST_REQUEST, Fault(shape.visible, LOST_REQUEST))).id)
        await sweep.finish(attempts=ATTEMPTS)
        verdict = await judge(harness)
    assert verdict.violations == []
    assert set(verdict.left_to_person) == absent, "only a person knows that these were never published"
    for job in verdict.left_to_person.values():
        assert (job.state, "lookalike" in (job.last_error or "")) == (State.UNCERTAIN, True)


@contextmanager
def lookalike(oracle: Oracle) -> Iterator[None]:
    oracle.change(mastodon_lookalike=1)
    yield
    oracle.change(mastodon_lookalike=0)
