"""An account that its network blocks, on every network: its posts wait in order, and Postino reports it once."""

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from postino import Job, State
from postino.providers.registry import load_built_in
from postino.stores.records import AuditContext, DeadLetterFilter
from postino.testing import MemoryApp, SandboxServer
from postino.values.event import Cursor, EventType
from postino.values.post import AccountState

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("network", sorted(load_built_in().providers))
async def test_blocked_account_holds_its_posts_and_is_reported_once(sandbox: SandboxServer, network: str) -> None:
    account = sandbox.account(network)
    account_id = f"{network}:{account.handle}"
    blocked = f"accounts/{network}/{account.handle}"
    async with MemoryApp(sandbox_url=sandbox.url) as app:
        await app.accounts.add(
            network, account.handle, dict(account.credentials), base_url=account.base_url, remote_id=account.remote_id
        )
        sandbox.post(blocked, {"blocked": True})
        texts = ["one", "two", "three"]
        jobs = [await create_post(app, account_id, text, hours) for hours, text in enumerate(texts)]
        with capture_logs() as logs:
            await app.run_until(app.clock.now + 5 * HOUR)
        assert [(await app.store.job(job.id)).state for job in jobs] == [State.PENDING] * 3
        assert await app.store.dead_letters(DeadLetterFilter()) == []
        assert (await app.store.account(account_id)).state is AccountState.SUSPENDED
        events = [event.type for event in await app.store.events(Cursor(), 1000)]
        assert events.count(EventType.ACCOUNT_SUSPENDED) == 1
        assert [line["account"] for line in logs if line["event"] == "account.suspended"] == [account_id]

        sandbox.post(blocked, {"blocked": False})
        await app.accounts.resume(account_id, AuditContext("maria"))
        await app.run_until(app.clock.now + HOUR)
        assert [(await app.store.job(job.id)).state for job in jobs] == [State.COMPLETED] * 3
    assert [post["text"] for post in sandbox.published(network)] == texts


async def create_post(app: MemoryApp, account: str, text: str, hours: int) -> Job:
    payload: dict[str, Any] = {"parts": [text]}
    at = app.clock.now + hours * HOUR
    return await app.enqueue("postino.post", payload, channel=account.partition(":")[0], account=account, at=at)
