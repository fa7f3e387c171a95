"""Build a running app from its settings. Only this file chooses implementations of stores, wake-ups and HTTP."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from postino import config as configuration
from postino.app import App
from postino.auth.api_keys import KeyService
from postino.auth.audit_trail import AuditTrail
from postino.auth.passwords import Passwords
from postino.auth.refusal_log import RefusalLog
from postino.auth.sign_in import SignInService
from postino.auth.users import UserService
from postino.config import Config
from postino.engine.actions import make_audit_context, parse_job_id
from postino.engine.call_context import HttpClientFactory
from postino.engine.channel_limits import ChannelLimits, build_channel_limits
from postino.engine.duties import run_beside
from postino.engine.enqueue import PostBatcher
from postino.engine.parts import Parts
from postino.engine.read_batcher import ReadBatcher
from postino.engine.store_retry import retry_forever
from postino.engine.stored_settings import store_first_settings, store_settings
from postino.engine.witness_file import WitnessUnavailable, choose_state_directory
from postino.engine.worker import Worker
from postino.errors import ConfigError, Conflict
from postino.providers.registry import NetworkRegistry, load_built_in, load_registry
from postino.publishing.accounts import AccountService, CredentialCheck
from postino.publishing.lookup import find_post_id_scope
from postino.publishing.post_validation import PostValidator
from postino.publishing.posts import PostService
from postino.publishing.publisher import POST_BACKOFF, POST_MAX_ATTEMPTS, POST_TIME_LIMIT, Publisher
from postino.publishing.vault_keys import VaultKeys
from postino.rules.restore import advise_answer
from postino.sandbox.url_file import is_stopped
from postino.stores.records import AuditContext, StoredSettings
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.values.database import Standing
from postino.values.job import Job
from postino.values.outcome import Done, Reject, Retry
from postino.values.post import POST
from postino.values.provider import Account, Http, Provider
from postino.vault.digests import SecretDigests
from postino.vault.key_source import KeySource
from postino.wakeups.datagram import DatagramWakeup
from postino.wakeups.local import LocalWakeup
from postino.wakeups.wakeup import Wakeup

if TYPE_CHECKING:
    from yarl import URL

    from postino.sandbox.accounts import SeededAccount


class Postino(App):
    """A queue of durable jobs: `Postino("postgresql://…")`, `Postino(config)`, or the default data directory.

    `store` replaces the database of the settings, for tests.
    """

    def __init__(self, where: str | Config | None = None, *, store: Store | None = None) -> None:
        config = where if isinstance(where, Config) else configuration.load_config(flags={"database": {"url": where}})
        self.networks = self.load_networks(config)
        super().__init__(build_parts(config, self.networks, store))
        self.vault_keys = VaultKeys(self.store, KeySource(config.vault_key_path, config.vault.key))
        self.audit_trail = AuditTrail(
            self.store,
            lambda: self.vault_keys.keys,
            self.vault_keys.find,
            self._parts.state_dir,
            describe_place(config.database_url),
        )
        self.accounts = AccountService(self.store, self.vault_keys, config.sandbox.url, self.networks)
        self.refusals = RefusalLog()
        digests, passwords = SecretDigests(self.vault_keys.load, self.vault_keys.reload), Passwords()
        self.users = UserService(self.store, passwords)
        self.api_keys = KeyService(self.store, digests)
        self.sign_in = SignInService(self.store, digests, passwords, self.refusals)
        self.post_batcher, self.read_batcher = PostBatcher(self.store), ReadBatcher(self.store)
        providers, limits = self.networks.providers, self.networks.limits
        self.post_validator = PostValidator(self.store, limits, self.networks.titles, make_media_url_check(config))
        self.posts = PostService(self.store, self.post_validator, self.post_batcher.create, self.wake)
        publisher = Publisher(
            self.accounts,
            providers,
            timeout_factor=config.publishing.timeout_factor,
            send_within=config.publishing.send_within,
        )
        self.handler(POST, max_attempts=POST_MAX_ATTEMPTS, backoff=POST_BACKOFF, time_limit=POST_TIME_LIMIT)(
            publisher.publish
        )

    def load_networks(self, config: Config) -> NetworkRegistry:
        """Return the networks that this app publishes to."""
        return load_networks(config)

    async def apply_settings(self, *, actor: str = "app") -> StoredSettings:
        """Store the blackout windows and caps of these settings; from now on they hold for all workers."""
        await self.open()
        stored = await store_settings(self.store, self.channel_limits, actor)
        self.wakeup.notify()
        return stored

    async def work(self, *, stop: asyncio.Event | None = None) -> None:
        await self.open()
        await retry_forever(self.vault_keys.check)
        await run_beside(super().work(stop=stop), [self.accounts.keep_unlocking()])

    def make_worker(self, http: HttpClientFactory) -> Worker:
        worker = super().make_worker(http)
        worker.may_claim = lambda: self.vault_keys.refusal is None
        return worker

    async def resolve(self, job_id: UUID, verdict: Done | Retry | Reject, *, reason: str, actor: str = "app") -> Job:
        job_id, context, scope = parse_job_id(job_id), make_audit_context(actor, reason), ""
        await self.open()
        if isinstance(verdict, Done) and verdict.remote_id:
            job = await self.store.job(job_id)
            scope = await find_post_id_scope(self.accounts, self.networks.providers, job)
        return await self._act(self.store.resolve_job(job_id, verdict, context, id_scope=scope))

    async def close(self) -> None:
        await self.post_batcher.batcher.flush()
        await self.audit_trail.close()
        await super().close()


def get_post_max_attempts(config: Config, network: str) -> int:
    """Return the number of attempts for posts of a network that set none themselves."""
    channel = config.channels.get(network)
    return POST_MAX_ATTEMPTS if channel is None or channel.max_attempts is None else channel.max_attempts


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
        return Parts(config, given, LocalWakeup(), given.open, lambda: given, make_http_client_factory(config), limits)
    path = get_sqlite_path(config.database_url)
    if path is None:
        make_store, wakeup = build_postgres_parts(config)
        store = make_store()
        return Parts(
            config, store, wakeup, store.open, make_store, make_http_client_factory(config), limits, find_state_dir()
        )
    make_driver = partial(Sqlite, path, statement_seconds=config.database.statement_timeout)
    driver = make_driver()
    store, wakeup = Store(driver), DatagramWakeup(path)

    async def make_ready() -> None:
        is_new = await driver.is_new()
        if is_new:
            await store.migrate()  # a new SQLite file has no data that a migration could lose
        await store.open()
        if is_new:
            await store_first_settings(store, limits)

    make_http, make_store = make_http_client_factory(config), lambda: Store(make_driver())
    return Parts(config, store, wakeup, make_ready, make_store, make_http, limits, find_state_dir())


def find_state_dir() -> Path | None:
    """Return the directory for what processes remember outside the database; None if the system names none."""
    with suppress(WitnessUnavailable):  # the worker says so
        return choose_state_directory(os.environ)
    return None


def make_media_url_check(config: Config) -> Callable[[str], str | None]:
    """Return a function that says why a media URL is never fetched; None if it may be."""

    def describe_problem(url: str) -> str | None:
        from postino.outbound.ssrf import check_url

        return check_url(url, list_running_sandbox_origins(config))

    return describe_problem


def describe_unreachable(config: Config, address: str) -> str | None:
    """Return why no account may have its server at this address; None if it may."""
    from postino.outbound.ssrf import check_server_url

    allowed = [*list_running_sandbox_origins(config), *config.networks.allowed_private_origins]
    return check_server_url(address, allowed, config.outbound.http_origins)


def list_running_sandbox_origins(config: Config) -> list[str]:
    """Return the sandbox's origin while the sandbox runs: afterwards, any program may have its port."""
    return [] if is_stopped(config.data_dir, config.sandbox.url) else list_sandbox_origins(config)


def list_sandbox_origins(config: Config) -> list[str]:
    return [config.sandbox.url] if config.sandbox.url else []


def private_origins(config: Config) -> list[str]:
    """Return the private origins at which accounts may have their servers."""
    return [*list_sandbox_origins(config), *config.networks.allowed_private_origins]


def make_http_client_factory(config: Config) -> Callable[[], AbstractAsyncContextManager[HttpClientFactory]]:
    """Import the HTTP client on first use: a program that only enqueues does not need it."""

    def make_client() -> AbstractAsyncContextManager[HttpClientFactory]:
        from postino.outbound.http import OutboundHttp
        from postino.outbound.ssrf import is_allowed_origin

        def describe_stopped(url: "URL") -> str | None:
            if not is_allowed_origin(url, list_sandbox_origins(config)) or list_running_sandbox_origins(config):
                return None
            return "the sandbox does not run; `postino up` starts it"

        allow_private = partial(is_allowed_origin, allowed_origins=private_origins(config))
        return OutboundHttp(
            allowed_origins=list_sandbox_origins(config),
            allow_private=allow_private,
            http_origins=config.outbound.http_origins,
            describe_stopped=describe_stopped,
        )

    return make_client


def no_objection() -> str | None:
    """Return no reason against sending."""
    return None


@asynccontextmanager
async def open_http(app: Postino) -> AsyncIterator[Callable[[Provider, Account], Http]]:
    """Yield a function that opens an HTTP client for requests outside jobs. It refuses visible requests.

    Raises Conflict while the database may be a copy or a backup: the credentials may belong to the other one, which a
    refresh would disconnect.
    """
    state = await app.store.database_state()
    if state.standing in (Standing.ASKED, Standing.COPY):
        raise Conflict(
            "Postino sends nothing to any network from a database that may be a copy or a backup, so it cannot ask."
            f" {advise_answer(state)}"
        )
    timeout_factor = app.config.publishing.timeout_factor

    def open_client(network: Provider, account: Account) -> Http:
        secrets = frozenset(account.credentials.values())
        timeout = network.timeout * timeout_factor
        return http.open(timeout=timeout, may_send=no_objection, visible=False, secrets=secrets, public=True)

    async with make_http_client_factory(app.config)() as http:
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

    return make_store, PostgresWakeup(url, database.listen_url)


def get_sqlite_path(url: str) -> Path | None:
    return Path(url.removeprefix("sqlite:///")).absolute() if url.startswith("sqlite:///") else None


def describe_place(url: str) -> str:
    """Return where the settings say that the database is: its file, or its server and name, without credentials."""
    path = get_sqlite_path(url)
    if path is not None:
        return str(path.resolve())
    parts = urlsplit(url)
    options = [
        (name, value) for name, value in parse_qsl(parts.query) if name in ("host", "port", "dbname", "database")
    ]
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}?{urlencode(sorted(options))}"
