"""Accounts on networks: connect them, open their sealed credentials, check them, pause and resume them."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from postino import clock
from postino.config import redact_url
from postino.errors import Conflict, WrongUse
from postino.providers.registry import NetworkRegistry
from postino.publishing.vault_keys import MissingVaultKey, VaultKeys, WrongVaultKey
from postino.rules.gates import compute_closed_gates, describe_closed_gate, is_closed
from postino.rules.token_patterns import hide_tokens
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.base_url import SANDBOX, normalize_base_url
from postino.values.gate import GateKind, Scope
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
from postino.vault.key_file import KeyFileRefused
from postino.vault.vault import VaultError

log = structlog.get_logger("postino.publisher")
# What becomes of an account that its network refuses.
HELD_STATES = {FailureKind.AUTH: AccountState.TOKEN_EXPIRED, FailureKind.SUSPENDED: AccountState.SUSPENDED}
HELD_EVENTS = {
    AccountState.TOKEN_EXPIRED: "account.token_expired",
    AccountState.SUSPENDED: "account.suspended",
    AccountState.LOCKED: "account.locked",
}
# What ends a hold.
RELEASES = {
    AccountState.TOKEN_EXPIRED: "a person reconnects it",
    AccountState.SUSPENDED: "a person resumes or reconnects it",
    AccountState.LOCKED: "the right vault key is back, or a person reconnects it",
}
UNLOCK_EVERY = 30.0  # seconds
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
        vault_keys: VaultKeys,
        sandbox_url: str,
        networks: NetworkRegistry,
    ) -> None:
        self.store = store
        self.vault_keys = vault_keys
        self.sandbox_url = sandbox_url
        self.networks = networks

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
        # Credentials that open prove the server and the remote id: nobody has changed them in the database.
        kept = known if known is not None and await self.can_unseal(known) else None
        address = base_url or (kept.base_url if kept else self.networks.default_base_urls.get(network))
        if not base_url and known is not None and address != known.base_url:
            message = (
                f"base_url: give the server of {account_id}. The stored one, {redact_url(known.base_url)}, may have"
                " been changed: the stored credentials do not open with it. Nothing was changed."
            )
            raise WrongUse(message, field="base_url")
        if not address:
            message = f"base_url: give the server of {handle}. {titles[network]} has many servers."
            raise WrongUse(message, field="base_url")
        account = StoredAccount(
            id=account_id,
            network=network,
            handle=handle,
            base_url=normalize_base_url(address, network),
            brand=brand or (known.brand if known else None),
            remote_id=remote_id or (kept.remote_id if kept else None),
            sealed=b"",
        )
        account = await self.vault_keys.seal(credentials, account)
        if known is None:
            return await self.store.add_account(account, act)
        return await self.store.save_account(account, act, before=known)

    async def open(self, account_id: str) -> Account:
        """Return the account with its credentials unsealed. Raises NotFound, VaultError."""
        return await self.unseal(await self.store.account(account_id))

    async def unseal(self, stored: StoredAccount) -> Account:
        """Return a stored account with its credentials unsealed. Raises VaultError, also if its address was changed."""
        # First: credentials that open prove that nobody has changed the address in the database.
        credentials = await self.vault_keys.unseal(stored)
        return Account(
            id=stored.id,
            network=stored.network,
            handle=stored.handle,
            base_url=self.resolve_address(stored),
            credentials=credentials,
            brand=stored.brand,
            remote_id=stored.remote_id,
            version=stored.version,
            service=stored.service,
        )

    async def renew(self, account: Account, tokens: Tokens) -> Account:
        """Store new credentials before anyone uses them, and return the account with them.

        The network has ended the old ones, so a pause in the meantime keeps none of this from being stored. Raises
        Conflict if a person has reconnected the account with other credentials since it was opened.
        """
        if dict(tokens.credentials) == dict(account.credentials):
            return account
        stored = await self.store.account(account.id)
        # Opening them proves that nobody has changed the server to which the new ones will be sealed.
        if await self.vault_keys.unseal(stored) != dict(account.credentials):
            raise Conflict(f"Account {account.id} was reconnected in the meantime. Nothing was changed.")
        renewed = await self.vault_keys.seal(tokens.credentials, stored)
        saved = await self.store.save_account(renewed, renewed_from=stored.sealed)
        return replace(account, credentials=tokens.credentials, version=saved.version)

    def resolve_address(self, account: StoredAccount) -> str:
        """Return the URL of the account's server. Raises WrongUse, also if somebody wrote another form."""
        address = normalize_base_url(account.base_url, account.network)
        if not address.startswith(SANDBOX):
            return address
        if not self.sandbox_url:
            message = f"Account {account.id} belongs to the sandbox, which is not running. Start it with `postino up`."
            raise WrongUse(message, field="sandbox.url")
        return self.sandbox_url.rstrip("/") + address.removeprefix(SANDBOX)

    async def check(
        self, account_id: str, network: Provider, open_http: Callable[[Account], Http], act: AuditContext
    ) -> CredentialCheck:
        """Ask the network whether it accepts the credentials, and set the account's state accordingly.

        Raises VaultError if no key opens the credentials; the account is held.
        """
        stored = await self.store.account(account_id)
        try:
            account = await self.unseal(stored)
        except VaultError as error:
            await self.hold(stored, AccountState.LOCKED, str(error))
            raise
        if "refresh_token" in account.credentials:
            return CredentialCheck(stored, None, ROTATING)
        if blocker := await self.describe_blocker(stored):
            return CredentialCheck(stored, None, blocker)
        try:
            result = await network.refresh(account, open_http(account))
            if isinstance(result, Failure):
                result = replace(result, message=hide_tokens(result.message))
        except (NotSent, LostResponse) as error:
            return CredentialCheck(stored, None, str(error))
        if isinstance(result, Failure) and result.kind is FailureKind.RATE_LIMIT:
            await self.store.start_cooldown(Scope.ACCOUNT, account_id, result.until, result.message, clock.now())
        if isinstance(result, Failure) and result.kind not in HELD_STATES:
            return CredentialCheck(stored, None, result.message)
        state = self.choose_state(stored.state, result)
        if state is stored.state:
            current = await self.store.account(account_id)
        else:
            reason = result.message if isinstance(result, Failure) else None
            current = await self.store.set_account_state(
                account_id, state, reason, act, version=stored.version, keeps_pause=True
            )
        is_paused = state is AccountState.ACTIVE and current.state is AccountState.PAUSED  # which a check does not end
        if (current.state is not state and not is_paused) or current.sealed != stored.sealed:
            return CredentialCheck(current, None, f"{account_id} was changed in the meantime. Check it again.")
        if isinstance(result, Failure):
            return CredentialCheck(current, False, result.message)
        return CredentialCheck(current, True, "The network accepts the credentials.")

    @staticmethod
    def choose_state(state: AccountState, result: Tokens | Failure) -> AccountState:
        """Return the state of an account after its network accepted or refused its credentials. A pause stays."""
        if isinstance(result, Failure):
            return HELD_STATES[result.kind] if state is AccountState.ACTIVE else state
        return AccountState.ACTIVE if state in HELD_EVENTS else state

    async def describe_blocker(self, account: StoredAccount) -> str | None:
        """Return why Postino must not call the network for this account now: an open circuit or a rate limit."""
        known, now = await self.store.gate_sources()
        account_gates = await self.store.gates_for(Scope.ACCOUNT, account.id)
        for gate in (*compute_closed_gates(known, now).gates, *account_gates):
            concerns = (gate.scope, gate.name) in (
                (Scope.CHANNEL, account.network), (Scope.ACCOUNT, account.id), (Scope.SERVICE, account.service),
            )  # fmt: skip
            if concerns and gate.kind in (GateKind.BREAKER, GateKind.COOLDOWN) and is_closed(gate, now):
                until = f" Try again after {gate.until_at:%Y-%m-%d %H:%M:%S} UTC." if gate.until_at else ""
                return f"{describe_closed_gate(gate)}{until}"
        return None

    async def pause(self, account_id: str, act: AuditContext) -> StoredAccount:
        """Hold the account's posts until a person resumes it."""
        stored = await self.store.account(account_id)
        if stored.state is AccountState.TOKEN_EXPIRED:
            raise Conflict(f"Account {account_id} already waits for new credentials. Nothing was changed.")
        if stored.state in (AccountState.SUSPENDED, AccountState.LOCKED):
            raise Conflict(f"Account {account_id} is already held: it is {stored.state}. Nothing was changed.")
        return await self.change_state(stored, AccountState.PAUSED, act)

    async def resume(self, account_id: str, act: AuditContext) -> StoredAccount:
        """Publish the posts of an account that a person paused, or that its network had suspended."""
        stored = await self.store.account(account_id)
        if stored.state not in (AccountState.PAUSED, AccountState.SUSPENDED):
            state = "it is active"
            if stored.state in RELEASES:
                state = f"it is {stored.state}, and its posts wait until {RELEASES[stored.state]}"
            raise Conflict(f"Account {account_id} is not paused: {state}. Nothing was changed.")
        return await self.change_state(stored, AccountState.ACTIVE, act)

    async def change_state(self, stored: StoredAccount, state: AccountState, act: AuditContext) -> StoredAccount:
        """Pause or activate an account. Raises Conflict if it has changed since it was read."""
        changed = await self.store.set_account_state(stored.id, state, act.reason or None, act, version=stored.version)
        if changed.state is not state:
            raise Conflict(f"Account {stored.id} was changed in the meantime. Nothing was changed. Try again.")
        return changed

    async def hold(self, account: StoredAccount | Account, state: AccountState, reason: str) -> bool:
        """Hold the account's posts until a person acts: the network refuses its credentials, or has suspended it.

        Returns False if the account has changed since it was opened: a person may have reconnected it.
        """
        reason = hide_tokens(reason)
        act = AuditContext("postino", reason)
        held = await self.store.set_account_state(account.id, state, reason, act, version=account.version)
        if held.state is state and held.version == account.version + 1:
            advice = f"the posts of the account wait until {RELEASES[state]}"
            log.error(HELD_EVENTS[state], account=account.id, reason=reason, next=advice)
        return held.state in HELD_EVENTS

    async def keep_unlocking(self) -> None:
        """Release locked accounts whose credentials can be opened again, until cancelled."""
        while True:
            try:
                with suppress(WrongVaultKey, KeyFileRefused):  # the vault's keys report it
                    await self.unlock()
            except Exception as error:  # noqa: BLE001 - any failure: it tries again
                log.warning(
                    "accounts.not_checked", error=str(error), next=f"Postino tries again in {UNLOCK_EVERY:.0f} s"
                )
            await asyncio.sleep(UNLOCK_EVERY)

    async def unlock(self) -> None:
        """Compare the keys with the database's, and release locked accounts that they open. Raises WrongVaultKey."""
        await self.vault_keys.check()
        for stored in await self.store.locked_accounts():
            if await self.can_unseal(stored):
                act = AuditContext("postino", "The vault key of its credentials is back.")
                await self.store.set_account_state(
                    stored.id, AccountState.ACTIVE, None, act, version=stored.version, keeps_pause=True
                )
                log.info("account.unlocked", account=stored.id)

    async def lock_unreadable(self) -> list[str]:
        """Hold the accounts whose credentials cannot be opened, and return their ids."""
        locked = []
        for stored in await self.store.accounts():
            try:
                await self.vault_keys.unseal(stored)
            except MissingVaultKey:
                continue
            except VaultError as error:
                await self.hold(stored, AccountState.LOCKED, str(error))
                locked.append(stored.id)
        return locked

    async def can_unseal(self, stored: StoredAccount) -> bool:
        try:
            await self.vault_keys.unseal(stored)
        except (VaultError, MissingVaultKey):
            return False
        return True
