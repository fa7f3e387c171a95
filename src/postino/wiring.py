"""From settings to running parts: the only file that names implementations."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from postino import config as configuration
from postino.app import App, Parts
from postino.auth.passwords import Passwords
from postino.auth.sign_in import SignInService
from postino.auth.users import People
from postino.config import Config
from postino.engine.call import HttpClientFactory
from postino.engine.channel_limits import ChannelLimits, build_channel_limits
from postino.engine.enqueue import PostBatcher
from postino.engine.read_batcher import ReadBatcher
from postino.errors import ConfigError, Conflict
from postino.providers import PROVIDERS
from postino.providers.registry import Networks, networks
from postino.publishing.accounts import NEEDED, AccountService, CredentialCheck
from postino.publishing.posts import PostService
from postino.publishing.publisher import Publisher
from postino.publishing.telling import Teller
from postino.rules.retry import Schedule
from postino.stores.records import Act
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.values.post import POST
from postino.values.provider import Account, Http, Provider
from postino.vault.digests import SecretDigests
from postino.vault.key_file import read_or_create
from postino.vault.vault import load_or_create
from postino.wakeups.datagram import DatagramWakeup
from postino.wakeups.wakeup import Wakeup

if TYPE_CHECKING:
    from postino.sandbox.accounts import SeededAccount

PUBLISHED_AT_MOST = 3
PUBLISH_AGAIN = Schedule([60, 300, 900])
PUBLISH_LIMIT = 120.0  # seconds a step may take: longer than any answer is waited for


class Postino(App):
    """A queue of durable jobs: `Postino("postgresql://…")`, `Postino(config)`, or the default data directory."""

    def __init__(self, where: str | Config | None = None) -> None:
        config = where if isinstance(where, Config) else configuration.load(flags={"database": {"url": where}})
        self.networks = networks_of(config)
        super().__init__(parts(config, self.networks))
        vault = partial(load_or_create, config.data_dir / "vault.key")
        self.accounts = AccountService(self.store, vault, config.sandbox.url, self.networks.needed, self.networks.homes)
        seals, passwords = SecretDigests(partial(read_or_create, config.data_dir / "vault.key")), Passwords()
        self.people = People(self.store, seals, passwords)
        self.signing_in = SignInService(self.store, seals, passwords)
        self.post_batcher, self.read_batcher = PostBatcher(self.store), ReadBatcher(self.store)
        providers, limits = self.networks.providers, self.networks.limits
        self.posts = PostService(
            self.store, limits, tuple(providers), self.post_batcher.create, self.wake, unfetchable(config)
        )
        self.teller = Teller(self.store, partial(most_attempts, config), self.read_batcher.gates)
        publisher = Publisher(
            self.accounts,
            providers,
            patience=config.publishing.patience,
            send_within=config.publishing.send_within,
        )
        self.handler(POST, max_attempts=PUBLISHED_AT_MOST, backoff=PUBLISH_AGAIN, time_limit=PUBLISH_LIMIT)(
            publisher.publish
        )

    async def close(self) -> None:
        await self.post_batcher.together.flushed()
        await super().close()


def most_attempts(config: Config, network: str) -> int:
    """How often a post is tried, where it does not say itself."""
    said = config.channels.get(network)
    return PUBLISHED_AT_MOST if said is None or said.max_attempts is None else said.max_attempts


def sandbox_accounts() -> list["SeededAccount"]:
    """Who has an account on the simulated networks from the start, where Postino publishes there."""
    from postino.sandbox.accounts import seeded

    return [account for account in seeded() if account.network in PROVIDERS]


async def serve_sandbox(path: Path, host: str, port: int, *, ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """The simulated networks, on the database at this path."""
    from postino.sandbox.server import serve

    await serve(path, host, port, ready=ready, stop=stop)


def networks_of(config: Config) -> Networks:
    return networks(config.networks.own, config.data_dir)


def needed_of(config: Config) -> Mapping[str, Mapping[str, str]]:
    """What it takes to speak for an account, by network."""
    return {**NEEDED, **networks_of(config).needed}


def load_channel_limits(config: Config, known: Networks | None = None) -> ChannelLimits:
    known = known or networks_of(config)
    return build_channel_limits(config, known.providers, known.quotas)


def parts(config: Config, known: Networks) -> Parts:
    limits = load_channel_limits(config, known)
    path = sqlite_path(config.database_url)
    if path is None:
        make_store, wakeup = postgres_parts(config)
        store = make_store()
        return Parts(config, store, wakeup, store.open, make_store, door_of(config), limits)
    make_driver = partial(Sqlite, path, statement_seconds=config.database.statement_timeout)
    driver = make_driver()
    store, wakeup = Store(driver), DatagramWakeup(path)

    async def make_ready() -> None:
        if await driver.is_new():
            await store.migrate()  # an embedded database without anything has nothing to lose
        await store.open()

    return Parts(config, store, wakeup, make_ready, lambda: Store(make_driver()), door_of(config), limits)


def unfetchable(config: Config) -> Callable[[str], str | None]:
    def why(url: str) -> str | None:
        from postino.outbound.ssrf import check_url

        return check_url(url, our_origins(config))

    return why


def unreachable(config: Config, address: str) -> str | None:
    """Why no account may have its server there; None: nothing speaks against it."""
    from postino.outbound.ssrf import check_url

    return check_url(address, reachable_inside(config))


def our_origins(config: Config) -> list[str]:
    return [config.sandbox.url] if config.sandbox.url else []


def reachable_inside(config: Config) -> list[str]:
    """Origins that are not public and at which accounts' servers may be."""
    return [*our_origins(config), *config.networks.inside]


def door_of(config: Config) -> Callable[[], AbstractAsyncContextManager[HttpClientFactory]]:
    """Imported when something is about to leave: a caller that only enqueues has no use for it."""

    def make_door() -> AbstractAsyncContextManager[HttpClientFactory]:
        from postino.outbound.http import OutboundHttp
        from postino.outbound.ssrf import is_allowed_origin

        allow_private = partial(is_allowed_origin, allowed_origins=reachable_inside(config))
        return OutboundHttp(allowed_origins=our_origins(config), allow_private=allow_private)

    return make_door


def always() -> str | None:
    """Nothing speaks against sending."""
    return None


@asynccontextmanager
async def outwards(app: Postino) -> AsyncIterator[Callable[[Provider, Account], Http]]:
    """The door, for who asks a network without a job. Nothing visible leaves by it."""
    patience = app.config.publishing.patience

    def open_door(network: Provider, account: Account) -> Http:
        secrets = frozenset(account.credentials.values())
        waits = network.timeout * patience
        return door.open(timeout=waits, may_send=always, visible=False, secrets=secrets, public=True)

    async with door_of(app.config)() as door:
        yield open_door


async def check_account(app: Postino, account_id: str, act: Act) -> CredentialCheck:
    """Asks its network whether it takes the account's credentials."""
    account = await app.store.account(account_id)
    network = app.networks.providers.get(account.network)
    if network is None:
        raise Conflict(f"Postino does not publish on {account.network} yet, so it cannot ask there.")
    async with outwards(app) as open_door:
        checked = await app.accounts.check(account_id, network, partial(open_door, network), act)
    app.wakeup.tell()
    return checked


def postgres_parts(config: Config) -> tuple[Callable[[], Store], Wakeup]:
    try:
        from postino.stores.postgres import Postgres
        from postino.wakeups.postgres import PostgresWakeup
    except ModuleNotFoundError as error:
        raise ConfigError(
            "database.url: PostgreSQL needs the extra: pip install 'postino[postgres]'.", field="database.url"
        ) from error
    url, database = config.database_url, config.database

    def make_store() -> Store:
        return Store(Postgres(url, connections=database.connections, statement_seconds=database.statement_timeout))

    return make_store, PostgresWakeup(url)


def sqlite_path(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///")).absolute() if url.startswith("sqlite:///") else None
