"""An account's state and its gates agree, whatever happens to it in whatever order."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from postino.errors import Conflict, NotFound
from postino.providers.registry import load_built_in
from postino.publishing.accounts import AccountService
from postino.publishing.vault_keys import VaultKeys
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.gate import GateKind, Scope
from postino.values.post import AccountState, StoredAccount
from postino.vault.key_source import KeySource
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import account, create, make_spec

HOLDS = (AccountState.TOKEN_EXPIRED, AccountState.SUSPENDED, AccountState.LOCKED)
REASONED = AuditContext("maria", "because")


def open_service(store: Store, folder: Path) -> AccountService:
    return AccountService(store, VaultKeys(store, KeySource(folder / "vault.key")), "", load_built_in())


def list_actions(store: Store, service: AccountService) -> Mapping[str, Callable[[], Awaitable[object]]]:
    """Return all that happens to an account, by name."""

    async def hold_since(before: StoredAccount, state: AccountState) -> None:
        await service.hold(before, state, "refused")

    async def hold(state: AccountState) -> None:
        await hold_since(await store.account("anna"), state)

    return {state.value: lambda state=state: hold(state) for state in HOLDS} | {
        "pause": lambda: service.pause("anna", REASONED),
        "resume": lambda: service.resume("anna", REASONED),
        "pause gate": lambda: store.pause(Scope.ACCOUNT, "anna", REASONED),
        "resume gate": lambda: store.resume(Scope.ACCOUNT, "anna", REASONED),
        "reconnect": lambda: store.save_account(account(sealed=b"new"), ME),
        "accept": lambda: store.set_account_state("anna", AccountState.ACTIVE, None, ME, keeps_pause=True),
    }


async def check_state(store: Store) -> AccountState:
    """Check that the state of the account is the one that its gates give it, and return it."""
    kinds = {gate.kind for gate in await store.gates_for(Scope.ACCOUNT, "anna")}
    anna = await store.account("anna")
    assert (GateKind.TOKEN in kinds) is (anna.state in HOLDS)
    if anna.state not in HOLDS:
        assert (GateKind.PAUSE in kinds) is (anna.state is AccountState.PAUSED)
    return anna.state


@pytest.mark.parametrize("seed", range(12))
async def test_state_and_gates_agree_after_any_sequence(harness: StoreHarness, tmp_path: Path, seed: int) -> None:
    service, chosen = open_service(harness.store, tmp_path), random.Random(seed)
    await harness.store.save_account(account())
    await create(harness.store, make_spec())
    actions, done = list_actions(harness.store, service), []
    for _ in range(15):
        name = chosen.choice(sorted(actions))
        done.append(name)
        with suppress(Conflict, NotFound):
            await actions[name]()
        assert await check_state(harness.store), done
    await harness.store.save_account(account(sealed=b"new"), ME)
    if await check_state(harness.store) is AccountState.PAUSED:
        await service.resume("anna", REASONED)
    assert await check_state(harness.store) is AccountState.ACTIVE, done
    assert len(await harness.take()) == 1, done


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("how", ["pause", "pause gate"])
async def test_pause_of_a_held_account_is_left_after_its_reconnect(
    harness: StoreHarness, tmp_path: Path, hold: AccountState, how: str
) -> None:
    service = open_service(harness.store, tmp_path)
    actions = list_actions(harness.store, service)
    await harness.store.save_account(account())
    await create(harness.store, make_spec())
    for name in (how, hold.value) if how == "pause" else (hold.value, how):
        await actions[name]()
    reconnected = await harness.store.save_account(account(sealed=b"new"), ME)
    assert (reconnected.state, reconnected.reason) == (AccountState.PAUSED, "because")
    assert await harness.take() == []
    await service.resume("anna", REASONED)
    assert len(await harness.take()) == 1


@pytest.mark.parametrize("action", ["pause", "resume"])
async def test_hold_between_the_read_and_the_write_of_a_person_stays(
    harness: StoreHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    store, service = harness.store, open_service(harness.store, tmp_path)
    await store.save_account(account())
    if action == "resume":
        await service.pause("anna", REASONED)
    read = store.account

    async def hold_after(account_id: str) -> StoredAccount:
        before = await read(account_id)
        await store.set_account_state(account_id, AccountState.TOKEN_EXPIRED, "refused", ME)
        return before

    monkeypatch.setattr(store, "account", hold_after)
    with pytest.raises(Conflict, match="was changed in the meantime"):
        await getattr(service, action)("anna", REASONED)
    monkeypatch.undo()
    assert await check_state(store) is AccountState.TOKEN_EXPIRED
