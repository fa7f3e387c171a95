"""What a worker remembers of its claims."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from postino.engine.claims import LOST_CLAIM_MEMORY, Claims
from postino.errors import StoreUnreachable
from postino.rules.claim_order import ClaimSource
from postino.stores.records import ClaimRequest, PollResult
from postino.stores.store import Store
from postino.values.job import Queue, new_id


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Away:
    """A store whose claim never returns."""

    asked: ClaimRequest

    async def claim(self, order: ClaimRequest) -> Any:
        self.asked = order
        raise StoreUnreachable("the answer was lost")


async def test_lost_claim_is_remembered_while_it_holds_jobs() -> None:
    clock, store = Clock(), Away()
    claims = Claims(cast(Store, store), clock)
    now = datetime.now(UTC)
    due = PollResult(now=now, heads=(ClaimSource("c", Queue.DEFAULT, now),))
    with pytest.raises(StoreUnreachable):
        await claims.claim("w", due, 10, False)
    job, token = new_id(), store.asked.token
    clock.now += 2 * LOST_CLAIM_MEMORY  # the store was away
    assert claims.find_jobs_of_lost_claims({(job, token), (new_id(), new_id())}) == [job]
    assert token in claims.lost_claims
    assert claims.find_jobs_of_lost_claims(set()) == []
    assert token not in claims.lost_claims
