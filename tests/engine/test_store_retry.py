"""What waits for the database says so."""

from collections.abc import Awaitable, Callable

import pytest
import structlog

from postino.engine import store_retry
from postino.engine.store_retry import retry_forever
from postino.errors import StoreUnreachable


def fail_times(count: int) -> Callable[[], Awaitable[str]]:
    left = [count]

    async def operation() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise StoreUnreachable("the database does not respond (no route)")
        return "done"

    return operation


async def test_wait_for_the_store_is_logged_at_once_and_not_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_retry, "RETRY_DELAY", 0.0)
    with structlog.testing.capture_logs() as logs:
        assert await retry_forever(fail_times(50)) == "done"
    assert [entry["event"] for entry in logs] == ["store.unreachable", "store.back"]
    assert "no route" in logs[0]["error"]
    assert "database.url" in logs[0]["next"]


async def test_store_that_answers_at_once_is_not_logged() -> None:
    with structlog.testing.capture_logs() as logs:
        assert await retry_forever(fail_times(0)) == "done"
    assert logs == []
