"""The vault's keys, once they are known to be those of this database.

A host with another vault.key would seal what nobody else can open, and hold accounts whose credentials it cannot open.
The database has a check value of each key. A process whose keys open none of them is refused, and changes nothing.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from postino.errors import StoreError
from postino.stores.records import AuditContext, VaultKey
from postino.stores.store import Store
from postino.values.post import StoredAccount
from postino.vault.key_file import KeyFileRefused, compute_key_id
from postino.vault.key_source import KeySource
from postino.vault.vault import KeyLost, SealBroken, is_proof, make_proof, make_vault, read_key_id

log = structlog.get_logger("postino.vault")
MAX_KEYS = 1000


class WrongVaultKey(StoreError):
    """The keys of this process open nothing in this database."""


class MissingVaultKey(WrongVaultKey):
    """Another host has the key of these credentials. This process has others of the database's keys only."""


class VaultKeys:
    def __init__(self, store: Store, source: KeySource) -> None:
        self.store = store
        self.source = source
        self.keys: list[bytes] = []
        self.refusal: str | None = None  # why this process has none of the database's keys; None: it has, or needs none
        self.warning: str | None = None  # why it could not read its keys again
        self.is_started = False
        self.loading = asyncio.Lock()

    async def check(self) -> None:
        """Raise WrongVaultKey if the database has keys and this process has none of them.

        Creates no key. May store the check values of this process's keys."""
        async with self.loading:
            await self.read()

    async def load(self) -> list[bytes]:
        """Return the keys. The first process on a new database creates one."""
        async with self.loading:
            if not self.keys:
                await self.read(create=True)
            return self.keys

    async def find(self) -> None:
        """Load the keys if they are the database's. Creates and stores nothing. Raises KeyFileRefused."""
        async with self.loading:
            if not self.keys:
                keys, known = self.source.read(), await self.store.vault_keys()
                if has_match(keys, known):
                    self.accept(keys)

    async def reload(self) -> list[bytes]:
        """Read the keys again: a person may have put another file in place, or have run `postino vault reset`.

        Keeps the old keys if the file is wrong, as long as they are the database's.
        """
        async with self.loading:
            await self.read(create=True)
            return self.keys

    async def replace(self, act: AuditContext) -> list[bytes]:
        """Make the keys of this process those of the database, because the others are lost."""
        async with self.loading:
            self.accept(self.source.read_or_create())
            await self.store.replace_vault_keys(self.make_rows(self.keys), act)
            return self.keys

    async def read(self, *, create: bool = False) -> None:
        """Read the keys and compare them with the database's. With `create`, an unused database gets its first key."""
        known = await self.store.vault_keys()
        is_used = bool(known or await self.list_used_ids())
        try:
            keys = self.source.read_or_create() if create and not is_used else self.source.read()
            self.accept(await self.match(keys, known) if keys or is_used else [])
        except (KeyFileRefused, WrongVaultKey) as error:
            if not has_match(self.keys, known):
                self.refuse(error)
                raise
            if self.warning != str(error):
                log.error(
                    "vault.refused", error=str(error), next="Postino continues with the keys that it has read before"
                )
            self.warning = str(error)

    def accept(self, keys: list[bytes]) -> None:
        """Use these keys from now on."""
        if self.refusal is not None:
            log.info("vault.accepted", next="this process publishes again")
        self.keys, self.refusal, self.warning, self.is_started = keys, None, None, True

    def refuse(self, error: Exception) -> None:
        """Use no key until this process has one of the database's."""
        if self.is_started and self.refusal != str(error):
            advice = "this process claims nothing, and looks again every half minute; other processes publish its posts"
            log.error("vault.refused", error=str(error), next=advice)
        self.keys, self.refusal = [], str(error)

    async def match(self, keys: Sequence[bytes], known: Sequence[VaultKey]) -> list[bytes]:
        """Store the check values of these keys and return the keys. Raises WrongVaultKey if none is the database's."""
        if not known:
            used = await self.list_used_ids()
            if used and used.isdisjoint(compute_key_id(key) for key in keys):
                raise WrongVaultKey(self.describe_mismatch(keys, sorted(used)))
            known = await self.store.add_vault_keys(self.make_rows(keys), first=True)
        if not has_match(keys, known):
            raise WrongVaultKey(self.describe_mismatch(keys, list_names(known)))
        if new := [key for key in keys if compute_key_id(key) not in {one.id for one in known}]:
            await self.store.add_vault_keys(self.make_rows(new))
        return [*keys]

    async def list_used_ids(self) -> set[str]:
        """Return the ids of the keys in use in a database that was made before it had check values."""
        sealed = {read_id(account) for account in await self.store.accounts()} - {""}
        return sealed | {key.digest.partition(":")[0] for key in await self.store.api_keys(None, MAX_KEYS)}

    def make_rows(self, keys: Sequence[bytes]) -> list[VaultKey]:
        source = f"{self.source} of {socket.gethostname()}"
        return [VaultKey(compute_key_id(key), make_proof(key), source) for key in keys]

    def describe_mismatch(self, keys: Sequence[bytes], names: Sequence[str]) -> str:
        """Say which keys the database has, which this process has, and which file to copy."""
        own = f"has {', '.join(map(compute_key_id, keys))}" if keys else "has no key"
        return (
            f"The credentials in this database are sealed with the vault key {', or '.join(names)}; {self.source}"
            f" {own}. Nothing was changed. Copy that file to {self.source.path} on this machine, or set"
            " POSTINO_VAULT_KEY or POSTINO_VAULT_KEY_FILE, and start again. If every copy is lost, run `postino vault"
            " reset`; then reconnect all accounts and create new API keys."
        )

    async def seal(self, credentials: Mapping[str, str], account: StoredAccount) -> StoredAccount:
        """Return the account with these credentials, sealed with a key of the database. Raises WrongVaultKey."""
        vault = make_vault(await self.reload())
        return replace(account, sealed=vault.seal(credentials, account.id, list_bound_values(account)))

    async def unseal(self, stored: StoredAccount) -> dict[str, str]:
        """Return the credentials of an account. Raises VaultError, WrongVaultKey."""
        try:
            return make_vault(await self.load()).open(stored.sealed, stored.id, list_bound_values(stored))
        except KeyLost:
            keys = await self.reload()
        try:
            return make_vault(keys).open(stored.sealed, stored.id, list_bound_values(stored))
        except KeyLost:
            await self.check_other_hosts(stored)
            raise

    async def check_other_hosts(self, stored: StoredAccount) -> None:
        """Raise MissingVaultKey if the database knows the key of these credentials, so that another host has it."""
        key_id = read_id(stored)
        for one in await self.store.vault_keys():
            if one.id == key_id:
                raise MissingVaultKey(
                    f"The credentials of {stored.id} are sealed with the vault key {one.id} from {one.source}, which"
                    f" {self.source} does not have. Nothing was changed. Copy that file to {self.source.path} on this"
                    " machine. If every copy is lost, reconnect the account."
                )


def has_match(keys: Sequence[bytes], known: Sequence[VaultKey]) -> bool:
    """Return whether one of the keys is the database's."""
    return any(is_proof(key, one.proof) for key in keys for one in known)


def list_names(known: Sequence[VaultKey]) -> list[str]:
    return [f"{one.id} from {one.source}" for one in known]


def list_bound_values(account: StoredAccount) -> list[str]:
    """Return what credentials are sealed to, so that nobody who may write the database can have them sent elsewhere."""
    return [account.network, account.base_url, account.remote_id or ""]


def read_id(account: StoredAccount) -> str:
    """Return the id of the key that sealed an account's credentials; empty if they are damaged."""
    try:
        return read_key_id(account.sealed, account.id)
    except SealBroken:
        return ""
