"""Accounts: who speaks on which network, with credentials that are sealed until the moment of the call."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from postino.errors import Conflict, WrongUse
from postino.providers.registry import NetworkRegistry
from postino.rules.gates import closed, is_closed, told_of_gate
from postino.rules.ledger import is_out
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.gate import GateKind, Scope
from postino.values.job import Job
from postino.values.post import AccountState, StoredAccount
from postino.values.provider import Account, Credential, Failure, Http, Kind, NoAnswer, NotSent, Provider, Tokens
from postino.vault.vault import Vault

SANDBOX = "sandbox:"  # an address that is looked up when it is needed: the simulated networks move
MOST_NAMED = 20
ROTATING = "Its tokens change with every use, so they are not tried for nothing. The next post shows whether they work."


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    """Whether a network takes an account's credentials; None: it could not be told, and why."""

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


def no_such_account(name: str, known: Mapping[str, StoredAccount]) -> str:
    """With what was probably meant: the one of a network or a handle, or one that is written alike."""
    told = f"there is no account {name[:100]!r}."
    fitting = [account.id for account in known.values() if name in (account.network, account.handle)]
    close = fitting or difflib.get_close_matches(name[:100], [*known], n=1)
    if len(close) == 1:
        return f"{told} Did you mean {close[0]}?"
    there = [*(close or known)]
    more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
    return f"{told} There are: {', '.join(there[:MOST_NAMED])}{more}." if there else f"{told} There are none yet."


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
        """Adds an account, or connects a known one anew: what is not said about it stays as it was.

        Raises Conflict if it was to be new and is not, or is of another brand than it was `before`.
        """
        titles = self.networks.titles
        if network not in titles:
            raise WrongUse(f"network: there is no {network!r}. There are: {', '.join(titles)}.", field="network")
        account_id = f"{network}:{handle}"
        known = before
        if known is None and not new:
            known = next(iter(await self.store.accounts_by_id([account_id])), None)
        address = base_url or (known.base_url if known else self.networks.default_base_urls.get(network))
        if not address:
            every = f"every {titles[network]} server is another one"
            raise WrongUse(f"base_url: say where the server of {handle} is; {every}.", field="base_url")
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
        """With everything it takes to speak for it, for as long as that takes."""
        stored = await self.store.account(account_id)
        return Account(
            id=stored.id,
            network=stored.network,
            handle=stored.handle,
            base_url=self.address_of(stored),
            credentials=self.vault.open(stored.sealed, stored.id),
            brand=stored.brand,
            remote_id=stored.remote_id,
        )

    async def renew(self, account: Account, tokens: Tokens) -> Account:
        """Keeps new credentials before anybody uses them."""
        if dict(tokens.credentials) != dict(account.credentials) and await self.still_has(account):
            stored = await self.store.account(account.id)
            sealed = self.vault.seal(tokens.credentials, account.id)
            await self.store.save_account(replace(stored, sealed=sealed))
        return replace(account, credentials=tokens.credentials)

    async def still_has(self, account: Account) -> bool:
        """Whether these are still its credentials: a person may have connected it anew while they were tried."""
        return dict((await self.open(account.id)).credentials) == dict(account.credentials)

    async def is_out(self, job: Job) -> bool:
        """Whether something of it is out there, or may be."""
        return job.sent and is_out(await self.store.ledger(job.id))

    def address_of(self, account: StoredAccount) -> str:
        if not account.base_url.startswith(SANDBOX):
            return account.base_url
        if not self.sandbox_url:
            told = f"account {account.id} is one of the sandbox, and none runs. `postino up` starts one."
            raise WrongUse(told, field="sandbox.url")
        return self.sandbox_url.rstrip("/") + account.base_url.removeprefix(SANDBOX)

    async def check(
        self, account_id: str, network: Provider, open_door: Callable[[Account], Http], act: AuditContext
    ) -> CredentialCheck:
        """Asks the network whether it takes the credentials: refused, its posts wait; taken again, they go."""
        stored = await self.store.account(account_id)
        account = await self.open(account_id)
        if "refresh_token" in account.credentials:
            return CredentialCheck(stored, None, ROTATING)
        if told := await self.left_alone(stored):
            return CredentialCheck(stored, None, told)
        try:
            said = await network.refresh(account, open_door(account))
        except (NotSent, NoAnswer) as error:
            return CredentialCheck(stored, None, str(error))
        if isinstance(said, Failure) and said.kind is Kind.RATE_LIMIT:
            await self.store.start_cooldown(Scope.ACCOUNT, account_id, said.until, said.message)
        if isinstance(said, Failure) and said.kind is not Kind.AUTH:
            return CredentialCheck(stored, None, said.message)
        if not await self.still_has(account):
            return CredentialCheck(stored, None, f"{account_id} was connected anew meanwhile. Check it again.")
        if isinstance(said, Failure):
            if stored.state is AccountState.ACTIVE:
                stored = await self.store.set_account_state(account_id, AccountState.TOKEN_EXPIRED, said.message, act)
            return CredentialCheck(stored, False, said.message)
        if stored.state is AccountState.TOKEN_EXPIRED:
            stored = await self.store.set_account_state(account_id, AccountState.ACTIVE, None, act)
        return CredentialCheck(stored, True, "Its network takes its credentials.")

    async def left_alone(self, account: StoredAccount) -> str | None:
        """Why nobody asks the network about this account now: it is in trouble, or wants fewer calls."""
        known, now = await self.store.known_gates()
        own = await self.store.gates_for(Scope.ACCOUNT, account.id)
        for gate in (*closed(known, now).gates, *own):
            concerned = (gate.scope, gate.name) in ((Scope.CHANNEL, account.network), (Scope.ACCOUNT, account.id))
            if concerned and gate.kind in (GateKind.BREAKER, GateKind.COOL_DOWN) and is_closed(gate, now):
                until = f" It is asked again from {gate.until_at:%Y-%m-%d %H:%M:%S} UTC on." if gate.until_at else ""
                return f"{told_of_gate(gate)}{until}"
        return None

    async def pause(self, account_id: str, act: AuditContext) -> StoredAccount:
        """Its posts wait until somebody resumes it."""
        stored = await self.store.account(account_id)
        if stored.state is AccountState.TOKEN_EXPIRED:
            raise Conflict(f"Account {account_id} waits for new credentials already. Nothing was changed.")
        return await self.store.set_account_state(account_id, AccountState.PAUSED, act.reason or None, act)

    async def resume(self, account_id: str, act: AuditContext) -> StoredAccount:
        stored = await self.store.account(account_id)
        if stored.state is not AccountState.PAUSED:
            told = "it is active" if stored.state is AccountState.ACTIVE else "it needs new credentials: reconnect it"
            raise Conflict(f"Account {account_id} is not paused, {told}. Nothing was changed.")
        return await self.store.set_account_state(account_id, AccountState.ACTIVE, None, act)

    async def hold(self, account_id: str, reason: str) -> None:
        """Its credentials are refused: its posts wait until somebody connects it again."""
        await self.store.set_account_state(
            account_id, AccountState.TOKEN_EXPIRED, reason, AuditContext("postino", reason)
        )
