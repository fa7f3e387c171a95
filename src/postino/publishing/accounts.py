"""Accounts on networks: connect them, open their sealed credentials, check them, pause and resume them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from postino.errors import Conflict, WrongUse
from postino.providers.registry import NetworkRegistry
from postino.rules.gates import compute_closed_gates, describe_closed_gate, is_closed
from postino.rules.ledger import can_be_live
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.gate import GateKind, Scope
from postino.values.job import Job
from postino.values.post import AccountState, StoredAccount
from postino.values.provider import (
    Account,
    Credential,
    Failure,
    FailureKind,
    Http,
    LostResponse,
    NotSent,
    Provider,
    Tokens,
)
from postino.vault.vault import Vault

SANDBOX = "sandbox:"  # prefix of an address below the sandbox, whose URL changes with every start
# What becomes of an account that its network refuses.
HELD_STATES = {FailureKind.AUTH: AccountState.TOKEN_EXPIRED, FailureKind.SUSPENDED: AccountState.SUSPENDED}
ROTATING = "Its tokens change with every use, so Postino does not test them. The next post shows whether they work."


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    """Whether a network accepts an account's credentials. `works` is None if that could not be found out."""

    account: StoredAccount
    works: bool | None
    message: str


def check_network(network: str, networks: NetworkRegistry) -> None:
    """Raise WrongUse unless Postino publishes to this network."""
    if network not in networks.providers:
        title = networks.titles.get(network)
        known = ", ".join(networks.providers)
        where = f"{title} yet" if title else repr(network[:100])
        raise WrongUse(f"network: Postino does not publish to {where}. It publishes to: {known}.", field="network")


def complete_credentials(
    network: str, handle: str, credentials: Mapping[str, str], networks: NetworkRegistry
) -> dict[str, str]:
    """Return the credentials, with the handle where the network wants it; raise WrongUse if one is missing.

    No message contains a credential's value.
    """
    check_network(network, networks)
    declared = networks.credentials[network]
    for name, credential in declared.items():
        if credential.is_handle or credentials.get(name, "").strip() or credential.unless in credentials:
            continue
        needed = ", ".join(name for name, credential in declared.items() if not credential.is_handle)
        title = networks.titles[network]
        message = f"credentials: {name} is missing. {credential.prompt}. An account on {title} needs: {needed}."
        raise WrongUse(message, field="credentials")
    return {name: handle for name, credential in declared.items() if credential.is_handle} | dict(credentials)


def find_remote_id(credentials: Mapping[str, str], declared: Mapping[str, Credential]) -> str | None:
    """Return the credential that is also the account's id on the network, if the network declares one."""
    return next((credentials.get(name) for name, it in declared.items() if it.is_remote_id), None)


class AccountService:
    def __init__(
        self,
        store: Store,
        make_vault: Callable[[], Vault],
        sandbox_url: str,
        networks: NetworkRegistry,
    ) -> None:
        self.store = store
        self.make_vault = make_vault
        self.sandbox_url = sandbox_url
        self.networks = networks

    @cached_property
    def vault(self) -> Vault:
        return self.make_vault()

    async def add(
        self,
        network: str,
        handle: str,
        credentials: Mapping[str, str],
        *,
        base_url: str | None = None,
        brand: str | None = None,
        remote_id: str | None = None,
        act: AuditContext | None = None,
        new: bool = False,
        before: StoredAccount | None = None,
    ) -> StoredAccount:
        """Add an account, or reconnect a known one: an argument that is None keeps its value.

        With `new` a known account is a Conflict; with `before`, one whose brand has changed since then.
        """
        titles = self.networks.titles
        if network not in titles:
            raise WrongUse(f"network: {network!r} is unknown. Use one of: {', '.join(titles)}.", field="network")
        account_id = f"{network}:{handle}"
        known = before
        if known is None and not new:
            known = next(iter(await self.store.accounts_by_id([account_id])), None)
        address = base_url or (known.base_url if known else self.networks.default_base_urls.get(network))
        if not address:
            message = f"base_url: give the server of {handle}. {titles[network]} has many servers."
            raise WrongUse(message, field="base_url")
        account = StoredAccount(
            id=account_id,
            network=network,
            handle=handle,
            base_url=address.rstrip("/"),
            brand=brand or (known.brand if known else None),
            remote_id=remote_id or (known.remote_id if known else None),
            sealed=self.vault.seal(credentials, account_id),
        )
        if known is None:
            return await self.store.add_account(account, act)
        return await self.store.save_account(account, act, before=known)

    async def open(self, account_id: str) -> Account:
        """Return the account with its credentials unsealed. Raises NotFound, VaultError."""
        stored = await self.store.account(account_id)
        return Account(
            id=stored.id,
            network=stored.network,
            handle=stored.handle,
            base_url=self.resolve_address(stored),
            credentials=self.vault.open(stored.sealed, stored.id),
            brand=stored.brand,
            remote_id=stored.remote_id,
        )

    async def renew(self, account: Account, tokens: Tokens) -> Account:
        """Store new credentials before anyone uses them, and return the account with them."""
        if dict(tokens.credentials) != dict(account.credentials) and await self.has_credentials(account):
            stored = await self.store.account(account.id)
            sealed = self.vault.seal(tokens.credentials, account.id)
            await self.store.save_account(replace(stored, sealed=sealed))
        return replace(account, credentials=tokens.credentials)

    async def has_credentials(self, account: Account) -> bool:
        """Return whether these are still its credentials: a person may have reconnected it in the meantime."""
        return dict((await self.open(account.id)).credentials) == dict(account.credentials)

    async def may_be_published(self, job: Job) -> bool:
        """Return whether a part of the post is published, or may be."""
        return job.may_be_live and can_be_live(await self.store.ledger(job.id))

    def resolve_address(self, account: StoredAccount) -> str:
        if not account.base_url.startswith(SANDBOX):
            return account.base_url
        if not self.sandbox_url:
            message = f"Account {account.id} belongs to the sandbox, which is not running. Start it with `postino up`."
            raise WrongUse(message, field="sandbox.url")
        return self.sandbox_url.rstrip("/") + account.base_url.removeprefix(SANDBOX)

    async def check(
        self, account_id: str, network: Provider, open_http: Callable[[Account], Http], act: AuditContext
    ) -> CredentialCheck:
        """Ask the network whether it accepts the credentials, and set the account's state accordingly."""
        stored = await self.store.account(account_id)
        account = await self.open(account_id)
        if "refresh_token" in account.credentials:
            return CredentialCheck(stored, None, ROTATING)
        if blocker := await self.describe_blocker(stored):
            return CredentialCheck(stored, None, blocker)
        try:
            result = await network.refresh(account, open_http(account))
        except (NotSent, LostResponse) as error:
            return CredentialCheck(stored, None, str(error))
        if isinstance(result, Failure) and result.kind is FailureKind.RATE_LIMIT:
            await self.store.start_cooldown(Scope.ACCOUNT, account_id, result.until, result.message)
        if isinstance(result, Failure) and result.kind not in HELD_STATES:
            return CredentialCheck(stored, None, result.message)
        if not await self.has_credentials(account):
            return CredentialCheck(stored, None, f"{account_id} was reconnected in the meantime. Check it again.")
        if isinstance(result, Failure):
            if stored.state is AccountState.ACTIVE:
                state = HELD_STATES[result.kind]
                stored = await self.store.set_account_state(account_id, state, result.message, act)
            return CredentialCheck(stored, False, result.message)
        if stored.state in HELD_STATES.values():
            stored = await self.store.set_account_state(account_id, AccountState.ACTIVE, None, act)
        return CredentialCheck(stored, True, "The network accepts the credentials.")

    async def describe_blocker(self, account: StoredAccount) -> str | None:
        """Return why the network must not be asked about this account now: an open circuit or a rate limit."""
        known, now = await self.store.gate_sources()
        account_gates = await self.store.gates_for(Scope.ACCOUNT, account.id)
        for gate in (*compute_closed_gates(known, now).gates, *account_gates):
            concerns = (gate.scope, gate.name) in ((Scope.CHANNEL, account.network), (Scope.ACCOUNT, account.id))
            if concerns and gate.kind in (GateKind.BREAKER, GateKind.COOLDOWN) and is_closed(gate, now):
                until = f" Try again after {gate.until_at:%Y-%m-%d %H:%M:%S} UTC." if gate.until_at else ""
                return f"{describe_closed_gate(gate)}{until}"
        return None

    async def pause(self, account_id: str, act: AuditContext) -> StoredAccount:
        """Hold the account's posts until a person resumes it."""
        stored = await self.store.account(account_id)
        if stored.state is AccountState.TOKEN_EXPIRED:
            raise Conflict(f"Account {account_id} already waits for new credentials. Nothing was changed.")
        if stored.state is AccountState.SUSPENDED:
            raise Conflict(f"Account {account_id} is already held: it is suspended. Nothing was changed.")
        return await self.store.set_account_state(account_id, AccountState.PAUSED, act.reason or None, act)

    async def resume(self, account_id: str, act: AuditContext) -> StoredAccount:
        """Publish the posts of an account that a person paused, or that its network had suspended."""
        stored = await self.store.account(account_id)
        if stored.state not in (AccountState.PAUSED, AccountState.SUSPENDED):
            state = "it is active" if stored.state is AccountState.ACTIVE else "it needs new credentials: reconnect it"
            raise Conflict(f"Account {account_id} is not paused: {state}. Nothing was changed.")
        return await self.store.set_account_state(account_id, AccountState.ACTIVE, None, act)

    async def hold(self, account_id: str, state: AccountState, reason: str) -> None:
        """Hold the account's posts until a person acts: the network refuses its credentials, or has suspended it."""
        await self.store.set_account_state(account_id, state, reason, AuditContext("postino", reason))
