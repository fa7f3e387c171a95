"""Build a running app from its settings. Only this file chooses implementations of stores, wake-ups and HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from postino import config as configuration
from postino.app import App
from postino.auth.api_keys import KeyService
from postino.auth.passwords import Passwords
from postino.auth.sign_in import SignInService
from postino.auth.users import UserService
from postino.config import Config
from postino.engine.call_context import HttpClientFactory
from postino.engine.channel_limits import ChannelLimits, build_channel_limits
from postino.engine.enqueue import PostBatcher
from postino.engine.parts import Parts
from postino.engine.read_batcher import ReadBatcher
from postino.errors import ConfigError, Conflict
from postino.providers.registry import NetworkRegistry, load_built_in, load_registry
from postino.publishing.accounts import AccountService, CredentialCheck
from postino.publishing.post_validation import PostValidator
from postino.publishing.posts import PostService
from postino.publishing.publisher import Publisher
from postino.rules.retry import Schedule
from postino.stores.records import AuditContext
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.values.post import POST
from postino.values.provider import Account, Http, Provider
from postino.vault.digests import SecretDigests
from postino.vault.key_file import read_or_create
from postino.vault.vault import load_or_create
from postino.wakeups.datagram import DatagramWakeup
from postino.wakeups.local import LocalWakeup
from postino.wakeups.wakeup import Wakeup

if TYPE_CHECKING:
    from postino.sandbox.accounts import SeededAccount

MAX_ATTEMPTS = 3
BACKOFF = Schedule([60, 300, 900])
TIME_LIMIT = 120.0  # seconds for one step: longer than the timeout of any request


class Postino(App):
    """A queue of durable jobs: `Postino("postgresql://…")`, `Postino(config)`, or the default data directory.

    `store` replaces the database of the settings, for tests.
    """

    def __init__(self, where: str | Config | None = None, *, store: Store | None = None) -> None:
        config = where if isinstance(where, Config) else configuration.load_config(flags={"database": {"url": where}})
        self.networks = load_networks(config)
        super().__init__(build_parts(config, self.networks, store))
        vault = partial(load_or_create, config.data_dir / "vault.key")
        self.accounts = AccountService(self.store, vault, config.sandbox.url, self.networks)
        digests, passwords = SecretDigests(partial(read_or_create, config.data_dir / "vault.key")), Passwords()
        self.users = UserService(self.store, passwords)
        self.api_keys = KeyService(self.store, digests)
        self.sign_in = SignInService(self.store, digests, passwords)
        self.post_batcher, self.read_batcher = PostBatcher(self.store), ReadBatcher(self.store)
        providers, limits = self.networks.providers, self.networks.limits
        self.post_validator = PostValidator(self.store, limits, self.networks.titles, media_url_check(config))
        self.posts = PostService(self.store, self.post_validator, self.post_batcher.create, self.wake)
        publisher = Publisher(
            self.accounts,
            providers,
            patience=config.publishing.timeout_factor,
            send_within=config.publishing.send_within,
        )
        self.handler(POST, max_attempts=MAX_ATTEMPTS, backoff=BACKOFF, time_limit=TIME_LIMIT)(publisher.publish)

    async def close(self) -> None:
        await self.post_batcher.batcher.flush()
        await super().close()


def max_attempts(config: Config, network: str) -> int:
    """Return the number of attempts for posts of a network that set none themselves."""
    channel = config.channels.get(network)
    return MAX_ATTEMPTS if channel is None or channel.max_attempts is None else channel.max_attempts


def sandbox_accounts() -> list["SeededAccount"]:
    """Return the accounts that the sandbox has from the start, on networks that Postino publishes to."""
    from postino.sandbox.accounts import list_seeded_accounts

    return [account for account in list_seeded_accounts() if account.network in load_built_in().providers]


async def serve_sandbox(path: Path, host: str, port: int, *, ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """Run the sandbox with its database at this path."""
    from postino.sandbox.server import serve

    await serve(path, host, port, ready=ready, stop=stop)


def load_networks(config: Config) -> NetworkRegistry:
    return load_registry(config.networks.plugins, config.data_dir)


def load_channel_limits(config: Config, known: NetworkRegistry | None = None) -> ChannelLimits:
    known = known or load_networks(config)
    return build_channel_limits(config, known.providers, known.quotas)


def build_parts(config: Config, known: NetworkRegistry, store: Store | None = None) -> Parts:
    limits = load_channel_limits(config, known)
    if store is not None:
        given = store
        return Parts(config, given, LocalWakeup(), given.open, lambda: given, http_client_factory(config), limits)
    path = sqlite_path(config.database_url)
    if path is None:
        make_store, wakeup = build_postgres_parts(config)
        store = make_store()
        return Parts(config, store, wakeup, store.open, make_store, http_client_factory(config), limits)
    make_driver = partial(Sqlite, path, statement_seconds=config.database.statement_timeout)
    driver = make_driver()
    store, wakeup = Store(driver), DatagramWakeup(path)

    async def make_ready() -> None:
        if await driver.is_new():
            await store.migrate()  # a new SQLite file has no data that a migration could lose
        await store.open()

    return Parts(config, store, wakeup, make_ready, lambda: Store(make_driver()), http_client_factory(config), limits)


def media_url_check(config: Config) -> Callable[[str], str | None]:
    """Return a function that says why a media URL is never fetched; None if it may be."""

    def describe_problem(url: str) -> str | None:
        from postino.outbound.ssrf import check_url

        return check_url(url, sandbox_origins(config))

    return describe_problem


def describe_unreachable(config: Config, address: str) -> str | None:
    """Return why no account may have its server at this address; None if it may."""
    from postino.outbound.ssrf import check_url

    return check_url(address, private_origins(config))


def sandbox_origins(config: Config) -> list[str]:
    return [config.sandbox.url] if config.sandbox.url else []


def private_origins(config: Config) -> list[str]:
    """Return the private origins at which accounts may have their servers."""
    return [*sandbox_origins(config), *config.networks.allowed_private_origins]


def http_client_factory(config: Config) -> Callable[[], AbstractAsyncContextManager[HttpClientFactory]]:
    """Import the HTTP client on first use: a program that only enqueues does not need it."""

    def make_client() -> AbstractAsyncContextManager[HttpClientFactory]:
        from postino.outbound.http import OutboundHttp
        from postino.outbound.ssrf import is_allowed_origin

        allow_private = partial(is_allowed_origin, allowed_origins=private_origins(config))
        return OutboundHttp(allowed_origins=sandbox_origins(config), allow_private=allow_private)

    return make_client


def no_objection() -> str | None:
    """Return no reason against sending."""
    return None


@asynccontextmanager
async def open_http(app: Postino) -> AsyncIterator[Callable[[Provider, Account], Http]]:
    """Yield a function that opens an HTTP client for requests outside jobs. It refuses visible requests."""
    patience = app.config.publishing.timeout_factor

    def open_client(network: Provider, account: Account) -> Http:
        secrets = frozenset(account.credentials.values())
        timeout = network.timeout * patience
        return http.open(timeout=timeout, may_send=no_objection, visible=False, secrets=secrets, public=True)

    async with http_client_factory(app.config)() as http:
        yield open_client


async def check_account(app: Postino, account_id: str, act: AuditContext) -> CredentialCheck:
    """Ask the network whether it accepts the account's credentials."""
    account = await app.store.account(account_id)
    network = app.networks.providers.get(account.network)
    if network is None:
        raise Conflict(f"Postino does not publish to {account.network} yet, so it cannot check {account_id}.")
    async with open_http(app) as open_client:
        checked = await app.accounts.check(account_id, network, partial(open_client, network), act)
    app.wakeup.notify()
    return checked


def build_postgres_parts(config: Config) -> tuple[Callable[[], Store], Wakeup]:
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
