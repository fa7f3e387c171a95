"""What all lives share: settings, the accounts on the sandbox's networks, and a prepared database to begin with."""

import base64
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import apsw

from postino import clock
from postino.config import (
    ChannelConfig,
    CircuitsConfig,
    Config,
    PublishingConfig,
    QueueConfig,
    SandboxConfig,
    VaultConfig,
    WorkerConfig,
)
from postino.rules.quota import Quota
from postino.sandbox.accounts import list_accounts, open_account
from postino.sandbox.networks import networks
from postino.stores.memory import MemoryDriver
from postino.stores.store import Store
from postino.testing.simulation.loop import make_loop
from postino.testing.simulation.sandbox_networks import URL, create_tables
from postino.testing.simulation.source import SimulatedSource
from postino.values.gate import Scope
from postino.wiring import Postino

NETWORK_SKEWS = (-90, -5, 5, 90)  # seconds by which the clocks of the networks are wrong
NETWORKS = ("bluesky", "mastodon", "telegram")
ACCOUNTS_PER_NETWORK = 2
BRANDS = ("rosso", "verde")
BRANDS_OF_ACCOUNTS = ("rosso", "rosso", "rosso", "verde", "verde", None)
VAULT_KEY = base64.b64encode(bytes(range(32))).decode()
RETRY = ChannelConfig(max_attempts=6, retry_backoff={"base": 1, "factor": 2, "max": 3})
PLACE = '["sqlite", "machine", "/nonexistent/postino.db", {}, null]'
OTHER_MACHINE = '["sqlite", "machine 2", "/nonexistent/postino.db", {}, null]'
QUOTA = Quota(name="posts per 2 s", most=1, period=timedelta(seconds=2), whose=Scope.ACCOUNT, costs={"post": 1})
SHARED_QUOTA = replace(QUOTA, whose=Scope.CHANNEL)
QUOTAS = {"telegram": (QUOTA,), "mastodon": (SHARED_QUOTA,)}
CONFIG = Config(
    data_dir=Path("/nonexistent"),
    worker=WorkerConfig(concurrency=4, heartbeat=1.0, lease=4.0, poll=1.0, drain=3.0),
    publishing=PublishingConfig(timeout_factor=0.2, send_within=2.0),
    circuits=CircuitsConfig(failure_threshold=8, window=20.0, open_timeout=5.0),
    sandbox=SandboxConfig(url=URL),
    vault=VaultConfig(key=VAULT_KEY),
    channels=dict.fromkeys(NETWORKS, RETRY),
)
# Of a worker whose settings differ from those in the database, which hold.
OTHER_CONFIG = replace(
    CONFIG,
    channels={name: replace(RETRY, cap=7) for name in NETWORKS},
    queue=QueueConfig(blackout_windows=[{"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"}]),
)


def open_accounts(connection: apsw.Connection) -> list[str]:
    """Open the accounts of a life on the networks, and return their names."""
    for name in NETWORKS:
        for number in range(2, ACCOUNTS_PER_NETWORK + 1):
            first, dot, domain = networks()[name].handle.partition(".")
            open_account(connection, networks()[name], f"{first}{number}{dot}{domain}")
    return [f"{it.network}:{it.handle}" for it in list_accounts(connection) if it.network in NETWORKS]


@cache
def make_template() -> bytes:
    """Return a migrated database with accounts, as SQLite serializes it."""
    loop = make_loop("template")
    source = SimulatedSource("template", loop)
    driver = MemoryDriver(source.true_time)
    with clock.use_source(source):
        loop.run_until_complete(fill(driver))
    loop.close()
    return driver.connection.serialize("main")


async def fill(driver: MemoryDriver) -> None:
    await driver.migrate()
    sandbox = apsw.Connection(":memory:")
    create_tables(sandbox)
    open_accounts(sandbox)
    app = Postino(CONFIG, store=Store(driver))
    known = [it for it in list_accounts(sandbox) if it.network in NETWORKS]
    for position, account in enumerate(known):
        await app.accounts.add(
            account.network,
            account.handle,
            account.credentials,
            base_url=f"sandbox:/{account.network}",
            brand=BRANDS_OF_ACCOUNTS[position],
            remote_id=account.remote_id,
        )
    await app.apply_settings()
