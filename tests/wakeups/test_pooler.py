"""Wake-ups with PgBouncer in between: NOTIFY goes through it, LISTEN needs a direct connection."""

import asyncio

import structlog

from postino.wakeups.postgres import PostgresWakeup
from tests.servers.pgbouncer import PgBouncer


async def test_notification_through_a_pooler_reaches_a_direct_listener(postgres_url: str, bouncer: PgBouncer) -> None:
    pooled = bouncer.translate(postgres_url)
    speaker, listener = PostgresWakeup(pooled), PostgresWakeup(pooled, postgres_url)
    await listener.listen()
    await listener.wait(0.01)
    speaker.notify()
    assert await listener.wait(10)
    await asyncio.gather(speaker.close(), listener.close())


async def test_listener_behind_a_pooler_says_that_it_hears_nothing(postgres_url: str, bouncer: PgBouncer) -> None:
    listener = PostgresWakeup(bouncer.translate(postgres_url))
    with structlog.testing.capture_logs() as logs:
        await listener.listen()
    (entry,) = logs
    assert entry["event"] == "wakeup.unavailable"
    assert "database.listen_url" in entry["next"]
    await listener.close()
