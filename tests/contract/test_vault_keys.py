"""The database knows its vault keys: a host with another key is refused, and changes nothing."""

from __future__ import annotations

import asyncio
import base64
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import structlog

from postino.errors import Conflict, WrongUse
from postino.providers.registry import load_built_in
from postino.publishing.accounts import AccountService
from postino.publishing.vault_keys import MissingVaultKey, VaultKeys, WrongVaultKey
from postino.stores.store import Store
from postino.values.event import Cursor, EventType
from postino.values.post import AccountState
from postino.values.provider import Account, Http, Tokens
from postino.vault.digests import SecretDigests
from postino.vault.key_file import KeyFileRefused, add_key, compute_key_id, read_or_create
from postino.vault.key_source import KeySource
from postino.vault.vault import SealBroken
from tests.contract.databases import Database
from tests.contract.harness import ME

SECRET = {"access_token": "hunter2"}


def open_host(store: Store, folder: Path) -> VaultKeys:
    return VaultKeys(store, KeySource(folder / "vault.key"))


async def test_host_with_another_vault_key_is_refused_until_it_has_a_copy(store: Store, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (key,) = await open_host(store, first).load()
    (other,) = read_or_create(second / "vault.key")
    known = await store.vault_keys()
    host = open_host(store, second)
    for attempt in (host.check, host.load, host.reload):
        with pytest.raises(WrongVaultKey) as refusal:
            await attempt()
        for part in (compute_key_id(key), compute_key_id(other), f"{first}/vault.key of ", f"{second}/vault.key"):
            assert part in str(refusal.value)
        assert base64.b64encode(key).decode() not in str(refusal.value)
    assert await store.vault_keys() == known
    shutil.copy(first / "vault.key", second / "vault.key")
    await host.check()
    assert await host.load() == [key]


async def test_host_without_a_key_makes_none_for_a_database_that_has_one(store: Store, tmp_path: Path) -> None:
    await open_host(store, tmp_path / "first").load()
    host = open_host(store, tmp_path / "second")
    for attempt in (host.check, host.load):
        with pytest.raises(WrongVaultKey, match="has no key"):
            await attempt()
    assert not (tmp_path / "second").exists()


async def test_check_of_a_new_database_makes_no_key(store: Store, tmp_path: Path) -> None:
    await open_host(store, tmp_path / "first").check()
    assert not (tmp_path / "first").exists()
    assert await store.vault_keys() == []


async def test_hosts_that_start_at_once_on_a_new_database_have_one_winner(store: Store, tmp_path: Path) -> None:
    hosts = [open_host(store, tmp_path / str(number)) for number in range(4)]
    answers = await asyncio.gather(*(host.load() for host in hosts), return_exceptions=True)
    assert sorted(isinstance(answer, WrongVaultKey) for answer in answers) == [False, True, True, True]
    assert len(await store.vault_keys()) == 1


async def test_key_comes_from_the_environment_before_the_file(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    (key,) = read_or_create(path)
    for text in (base64.b64encode(key).decode(), path.read_text()):
        assert KeySource(tmp_path / "none", text).read() == [key]
        assert await VaultKeys(store, KeySource(tmp_path / "none", text)).load() == [key]
    assert not (tmp_path / "none").exists()
    with pytest.raises(KeyFileRefused, match="POSTINO_VAULT_KEY is not a vault key") as refusal:
        KeySource(path, "hunter2").read()
    assert "hunter2" not in str(refusal.value)
    assert base64.b64encode(key).decode() not in repr(KeySource(path, base64.b64encode(key).decode()))


async def test_database_from_before_check_values_accepts_only_a_key_in_use(
    store: Store, tmp_path: Path, database: Database
) -> None:
    first = open_host(store, tmp_path / "first")
    service = AccountService(store, first, "", load_built_in())
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    database.sql("DELETE FROM {vault_keys}")
    read_or_create(tmp_path / "second" / "vault.key")
    with pytest.raises(WrongVaultKey, match=compute_key_id(first.keys[0])):
        await open_host(store, tmp_path / "second").load()
    assert await store.vault_keys() == []
    assert await open_host(store, tmp_path / "first").load() == first.keys
    assert [one.id for one in await store.vault_keys()] == [compute_key_id(first.keys[0])]


async def test_added_key_is_registered_and_found_by_a_running_process(store: Store, tmp_path: Path) -> None:
    first = open_host(store, tmp_path)
    await first.load()
    keys = add_key(tmp_path / "vault.key")
    later = open_host(store, tmp_path)
    assert await later.load() == keys
    assert {one.id for one in await store.vault_keys()} == {compute_key_id(key) for key in keys}
    service = AccountService(store, later, "", load_built_in())
    account = await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    assert await first.unseal(account) == SECRET


async def test_account_that_no_key_opens_is_locked_until_the_key_is_back(store: Store, tmp_path: Path) -> None:
    first = open_host(store, tmp_path)
    service = AccountService(store, first, "", load_built_in())
    fine = await service.add("mastodon", "fine", SECRET, base_url="https://social.example")
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    stored = await store.account("mastodon:anna")
    await store.save_account(replace(stored, sealed=stored.sealed[:-1] + b"?"))
    with structlog.testing.capture_logs() as logs:
        assert await service.lock_unreadable() == ["mastodon:anna"]
    assert [entry["event"] for entry in logs] == ["account.locked"]
    with pytest.raises(SealBroken):
        await service.open("mastodon:anna")
    await service.unlock()
    assert (await store.account("mastodon:anna")).state is AccountState.LOCKED
    assert (await store.account(fine.id)).state is AccountState.ACTIVE
    locked = await store.account("mastodon:anna")
    await store.set_account_state("mastodon:anna", AccountState.LOCKED, "", ME)
    await store.save_account(replace(locked, sealed=stored.sealed))  # a person restores the credentials
    await store.set_account_state("mastodon:anna", AccountState.LOCKED, "", ME)
    await service.unlock()
    assert (await store.account("mastodon:anna")).state is AccountState.ACTIVE


async def test_reset_makes_the_own_key_the_databases_and_locks_what_it_does_not_open(
    store: Store, tmp_path: Path
) -> None:
    first = open_host(store, tmp_path / "first")
    service = AccountService(store, first, "", load_built_in())
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    second = open_host(store, tmp_path / "second")
    await second.replace(ME)
    assert [entry.action for entry in await store.audit(1)] == ["vault.reset"]
    assert await AccountService(store, second, "", load_built_in()).lock_unreadable() == ["mastodon:anna"]
    with pytest.raises(WrongVaultKey):
        await open_host(store, tmp_path / "first").load()


async def test_process_gives_up_its_keys_after_a_reset_by_another(store: Store, tmp_path: Path) -> None:
    first, second = (open_host(store, tmp_path / name) for name in ("first", "second"))
    service = AccountService(store, first, "", load_built_in())
    digests = SecretDigests(first.load, first.reload)
    anna = await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    proof = await digests.digest("session", "secret")
    await second.replace(ME)
    await AccountService(store, second, "", load_built_in()).lock_unreadable()
    for attempt in (
        service.unlock,
        partial(service.add, "mastodon", "bruno", SECRET, base_url="https://social.example"),
        partial(digests.digest, "session", "secret"),
        partial(digests.matches, "session", "secret", proof),
        partial(first.unseal, anna),
    ):
        with pytest.raises(WrongVaultKey):
            await attempt()
    assert [(one.id, one.state) for one in await store.accounts()] == [("mastodon:anna", AccountState.LOCKED)]
    assert [one.id for one in await store.vault_keys()] == [compute_key_id(second.keys[0])]
    assert first.keys == []


async def test_check_of_an_account_that_no_key_opens_holds_it_and_says_why(store: Store, tmp_path: Path) -> None:
    service = AccountService(store, open_host(store, tmp_path), "", load_built_in())
    account = await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    await store.save_account(replace(account, sealed=account.sealed[:-1] + b"?"))
    with structlog.testing.capture_logs() as logs, pytest.raises(SealBroken, match="or reconnect the account"):
        await service.check(account.id, load_built_in().providers["mastodon"], refuse_calls, ME)
    assert (await store.account(account.id)).state is AccountState.LOCKED
    assert [entry["event"] for entry in logs] == ["account.locked"]
    with pytest.raises(Conflict, match="its posts wait until the right vault key is back"):
        await service.resume(account.id, ME)
    events = [event.type for event in await store.events(Cursor(), 100)]
    assert events.count(EventType.ACCOUNT_LOCKED) == 1


def refuse_calls(account: Account) -> Http:
    raise AssertionError(f"nothing may be sent for {account.id}")


async def test_key_that_another_host_has_locks_no_account(store: Store, tmp_path: Path) -> None:
    first, second = (open_host(store, tmp_path / name) for name in ("first", "second"))
    await first.load()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    await second.load()
    _, new = add_key(tmp_path / "first" / "vault.key")
    service, other = (AccountService(store, host, "", load_built_in()) for host in (first, second))
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    with pytest.raises(MissingVaultKey, match=f"{compute_key_id(new)} from {tmp_path}/first/vault.key of "):
        await other.open("mastodon:anna")
    assert await other.lock_unreadable() == []
    assert (await store.account("mastodon:anna")).state is AccountState.ACTIVE
    shutil.copy(tmp_path / "first" / "vault.key", tmp_path / "second" / "vault.key")
    assert (await other.open("mastodon:anna")).credentials == SECRET


CHANGES = (
    "base_url = 'https://thief.example'", "base_url = ''", "base_url = 'http://['", "base_url = 'sandbox:/bluesky'",
    "network = 'bluesky'", "remote_id = '4711'",
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_credentials_do_not_open_for_another_server_or_remote_id(
    store: Store, tmp_path: Path, database: Database, change: str
) -> None:
    """Whoever may write the database must not have the credentials sent to a server of theirs."""
    service = AccountService(store, open_host(store, tmp_path), "", load_built_in())
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example", remote_id="12")
    database.sql(f"UPDATE {{accounts}} SET {change}")
    with pytest.raises(SealBroken, match="reconnect the account"):
        await service.open("mastodon:anna")
    assert await service.lock_unreadable() == ["mastodon:anna"]
    await service.unlock()
    assert (await store.account("mastodon:anna")).state is AccountState.LOCKED


async def test_reconnect_does_not_trust_a_server_that_the_credentials_do_not_prove(
    store: Store, tmp_path: Path, database: Database
) -> None:
    service = AccountService(store, open_host(store, tmp_path), "", load_built_in())
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example", remote_id="12")
    database.sql("UPDATE {accounts} SET base_url = 'https://thief.example', remote_id = '13'")
    with pytest.raises(
        WrongUse, match=r"base_url: give the server of mastodon:anna.*https://thief\.example"
    ) as refusal:
        await service.add("mastodon", "anna", {"access_token": "new"})
    assert refusal.value.field == "base_url"
    saved = await service.add("mastodon", "anna", {"access_token": "new"}, base_url="https://social.example")
    assert (saved.base_url, saved.remote_id) == ("https://social.example", None)
    again = await service.add("mastodon", "anna", {"access_token": "newer"})
    assert again.base_url == "https://social.example"


async def test_new_tokens_are_not_sealed_to_a_changed_server(store: Store, tmp_path: Path, database: Database) -> None:
    service = AccountService(store, open_host(store, tmp_path), "", load_built_in())
    await service.add("mastodon", "anna", SECRET, base_url="https://social.example")
    account = await service.open("mastodon:anna")
    database.sql("UPDATE {accounts} SET base_url = 'https://thief.example'")
    with pytest.raises(SealBroken):
        await service.renew(account, Tokens(credentials={"access_token": "new"}))
