"""Accounts: credentials stay sealed, and posts wait while an account is not active."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from postino.errors import Conflict, NotFound
from postino.stores.records import AuditContext
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.outcome import Done
from postino.values.post import AccountState, StoredAccount
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import account, create, make_spec

EXPIRED = AccountState.TOKEN_EXPIRED


async def expire(harness: StoreHarness, reason: str = "the token has ended") -> StoredAccount:
    return await harness.store.set_account_state("anna", EXPIRED, reason, AuditContext("postino", reason))


async def is_held(harness: StoreHarness) -> bool:
    """Return whether a post of this account waits."""
    return await harness.take() == []


async def list_account_events(harness: StoreHarness) -> list[str]:
    return [event.type for event in await harness.events() if event.type.startswith("account.")]


@pytest.fixture
async def anna(harness: StoreHarness) -> StoredAccount:
    stored = await harness.store.save_account(account())
    await create(harness.store, make_spec())
    return stored


async def test_account_is_stored_byte_for_byte(harness: StoreHarness) -> None:
    result = account(brand="rosso", remote_id="did:1", sealed=bytes(range(256)))
    stored = await harness.store.save_account(result)
    assert stored == await harness.store.account("anna")
    assert (stored.sealed, stored.brand, stored.remote_id) == (result.sealed, "rosso", "did:1")
    assert (stored.state, stored.reason, stored.created_at) == (AccountState.ACTIVE, None, harness.clock.now)


async def test_accounts_are_listed_oldest_first(harness: StoreHarness) -> None:
    for name in ("carla", "anna", "bruno"):
        await harness.store.save_account(account(name))
        harness.clock.turn(seconds=1)
    assert [item.id for item in await harness.store.accounts()] == ["carla", "anna", "bruno"]


async def test_unknown_account_is_not_found(harness: StoreHarness) -> None:
    for item in (harness.store.account("nobody"), harness.store.set_account_state("nobody", EXPIRED, "why", ME)):
        with pytest.raises(NotFound, match="Account nobody does not exist"):
            await item
    assert await harness.store.gates() == []


async def test_new_credentials_replace_the_old_ones_and_nothing_else(
    harness: StoreHarness, anna: StoredAccount
) -> None:
    harness.clock.turn(hours=1)
    again = await harness.store.save_account(account(sealed=b"new", handle="@new"))
    assert (again.sealed, again.handle, again.created_at) == (b"new", "@new", anna.created_at)
    assert len(await harness.store.accounts()) == 1


async def test_account_cannot_change_its_network(harness: StoreHarness, anna: StoredAccount) -> None:
    with pytest.raises(Conflict, match="is on mastodon, not on bluesky"):
        await harness.store.save_account(account(network="bluesky"))
    assert await harness.store.account("anna") == anna


async def test_posts_wait_while_the_token_is_expired_and_an_event_reports_it(
    harness: StoreHarness, anna: StoredAccount
) -> None:
    marked = await expire(harness)
    assert (marked.state, marked.reason) == (EXPIRED, "the token has ended")
    assert await is_held(harness)
    (event,) = [event for event in await harness.events() if event.type == EventType.ACCOUNT_STATE_CHANGED]
    assert event.data == {"account": "anna", "state": "token_expired", "reason": "the token has ended"}
    (line,) = await harness.store.audit()
    assert (line.actor, line.action, line.subject) == ("postino", "account.state_changed", "account:anna")
    assert json.loads(line.detail) == event.data


async def test_older_refusal_does_not_overwrite_a_reconnect(harness: StoreHarness, anna: StoredAccount) -> None:
    again = await harness.store.save_account(account(sealed=anna.sealed))
    late = await harness.store.set_account_state("anna", EXPIRED, "refused", ME, version=anna.version)
    assert late == again == await harness.store.account("anna")
    assert await harness.store.gates() == []
    assert await list_account_events(harness) == []
    held = await harness.store.set_account_state("anna", EXPIRED, "refused", ME, version=again.version)
    assert held.state is EXPIRED
    assert await is_held(harness)


async def test_late_new_tokens_do_not_overwrite_a_reconnect(harness: StoreHarness, anna: StoredAccount) -> None:
    again = await harness.store.save_account(account(sealed=b"by a person"))
    with pytest.raises(Conflict, match="was reconnected in the meantime"):
        await harness.store.save_account(replace(anna, sealed=b"renewed"), renewed_from=anna.sealed)
    assert await harness.store.account("anna") == again
    renewed = await harness.store.save_account(replace(again, sealed=b"renewed"), renewed_from=again.sealed)
    assert renewed.sealed == b"renewed"


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (AccountState.PAUSED, AccountState.PAUSED),
        (AccountState.SUSPENDED, AccountState.SUSPENDED),
        (EXPIRED, AccountState.ACTIVE),  # what was refused were the credentials before
    ],
)
async def test_new_tokens_are_stored_although_the_state_has_changed(
    harness: StoreHarness, anna: StoredAccount, state: AccountState, after: AccountState
) -> None:
    await harness.store.set_account_state("anna", state, "because", ME)
    renewed = await harness.store.save_account(replace(anna, sealed=b"renewed"), renewed_from=anna.sealed)
    assert (renewed.sealed, renewed.state) == (b"renewed", after)
    assert await is_held(harness) is (after is not AccountState.ACTIVE)


@pytest.mark.parametrize("state", [EXPIRED, AccountState.SUSPENDED])
async def test_held_account_is_reported_once(harness: StoreHarness, anna: StoredAccount, state: AccountState) -> None:
    for reason in ("first", "second"):
        held = await harness.store.set_account_state("anna", state, reason, ME)
    assert (held.state, held.reason) == (state, "first")
    assert len(await list_account_events(harness)) == 2  # the change, and what it means
    assert len(await harness.store.audit()) == 1


async def test_other_accounts_publish_while_one_token_is_expired(harness: StoreHarness, anna: StoredAccount) -> None:
    (other,) = await create(harness.store, make_spec("bruno"))
    await expire(harness)
    assert [job.id for job in await harness.take()] == [other.job.id]


async def test_reconnecting_releases_waiting_posts(harness: StoreHarness, anna: StoredAccount) -> None:
    await expire(harness)
    again = await harness.store.save_account(account(sealed=b"new"))
    assert (again.state, again.reason) == (AccountState.ACTIVE, None)
    assert not await is_held(harness)


async def test_marking_an_account_active_releases_waiting_posts(harness: StoreHarness, anna: StoredAccount) -> None:
    await expire(harness)
    await harness.store.set_account_state("anna", AccountState.ACTIVE, None, ME)
    assert not await is_held(harness)


async def test_reconnecting_releases_posts_after_any_number_of_refusals(
    harness: StoreHarness, anna: StoredAccount
) -> None:
    for reason in ("the token has ended", "the password was changed", "the password was changed"):
        await expire(harness, reason)
    assert await is_held(harness)
    await harness.store.save_account(account(sealed=b"new"))
    assert not await is_held(harness)


async def test_reconnecting_does_not_end_a_pause_of_a_person(harness: StoreHarness, anna: StoredAccount) -> None:
    await harness.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await expire(harness)
    gates = await harness.store.gates_for(Scope.ACCOUNT, "anna")
    assert {gate.kind: gate.reason for gate in gates} == {
        GateKind.PAUSE: "holidays", GateKind.TOKEN: "the token has ended"
    }  # fmt: skip
    await harness.store.save_account(account(sealed=b"new"))
    assert [gate.kind for gate in await harness.store.gates()] == [GateKind.PAUSE]
    assert await is_held(harness)
    await harness.store.resume(Scope.ACCOUNT, "anna", ME)
    assert not await is_held(harness)


async def test_reconnecting_does_not_open_a_gate_closed_later_by_a_person(
    harness: StoreHarness, anna: StoredAccount
) -> None:
    await expire(harness)
    await harness.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await harness.store.save_account(account(sealed=b"new"))
    assert await is_held(harness)


async def test_resume_ends_only_a_pause_of_a_person(harness: StoreHarness, anna: StoredAccount) -> None:
    await expire(harness)
    with pytest.raises(NotFound, match="The account anna is not paused"):
        await harness.store.resume(Scope.ACCOUNT, "anna", ME)
    await harness.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await harness.store.resume(Scope.ACCOUNT, "anna", ME)
    assert [gate.kind for gate in await harness.store.gates()] == [GateKind.TOKEN]
    assert await is_held(harness)
    await harness.store.save_account(account(sealed=b"new"))
    assert not await is_held(harness)


@pytest.mark.parametrize("reason", ["no\x00luck", "half \ud83d"])
async def test_expired_account_is_held_whatever_the_reason_text(
    harness: StoreHarness, anna: StoredAccount, reason: str
) -> None:
    await expire(harness, reason)
    assert await is_held(harness)
    await harness.store.save_account(account(sealed=b"new"))
    assert not await is_held(harness)


async def test_credentials_are_not_in_the_repr(harness: StoreHarness, anna: StoredAccount) -> None:
    assert "sealed" not in repr(await harness.store.save_account(account(sealed=b"secret")))


async def test_new_credentials_do_not_end_a_pause(harness: StoreHarness, anna: StoredAccount) -> None:
    await harness.store.set_account_state("anna", AccountState.PAUSED, "holidays", ME)
    stored = await harness.store.save_account(account())
    assert (stored.state, stored.reason) == (AccountState.PAUSED, "holidays")
    assert await is_held(harness)


async def test_account_id_as_long_as_a_job_id_stays_text(harness: StoreHarness) -> None:
    name = "mastodon:ada-1a2b3c4d@social.example"
    assert len(name) == 36
    await harness.store.save_account(account(name))
    assert (await harness.store.account(name)).id == name


async def test_concurrent_adds_of_one_account_have_one_winner(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store()]
    brands = ["rosso", "verde"] * 3
    tries = [stores[number % 2].add_account(account(brand=brand), ME) for number, brand in enumerate(brands)]
    done = await asyncio.gather(*tries, return_exceptions=True)
    [added] = [one for one in done if isinstance(one, StoredAccount)]
    assert sum(isinstance(one, Conflict) for one in done) == len(brands) - 1
    assert await harness.store.account("anna") == added
    assert [line.action for line in await harness.store.audit()] == ["account.added"]


async def test_brand_changes_only_when_no_post_of_the_account_waits(harness: StoreHarness, anna: StoredAccount) -> None:
    with pytest.raises(Conflict, match=r"anna was not given to another brand: 1 of its posts is .* cancel or resolve"):
        await harness.store.save_account(account(brand="rosso", sealed=b"new"))
    assert await harness.store.account("anna") == anna
    [job] = await harness.take()
    with pytest.raises(Conflict):
        await harness.store.save_account(account(brand="rosso"))
    await harness.end(job, Done())
    assert (await harness.store.save_account(account(brand="rosso"), before=anna)).brand == "rosso"
    with pytest.raises(Conflict, match="was given to another brand in the meantime"):
        await harness.store.save_account(account(sealed=b"new"), before=anna)


async def test_account_event_keeps_the_brand_of_its_time(harness: StoreHarness) -> None:
    await harness.store.save_account(account(brand="rosso"))
    await expire(harness)
    await harness.store.start_cooldown(Scope.ACCOUNT, "anna", None, "too many")
    await harness.store.save_account(account(brand="verde"))
    await harness.store.pause(Scope.ACCOUNT, "anna", ME)
    await harness.store.pause(Scope.CHANNEL, "mastodon", ME)
    assert [event.data.get("brand") for event in await harness.events()] == ["rosso", "rosso", "rosso", "verde", None]


async def test_pausing_an_account_as_a_gate_pauses_the_account(harness: StoreHarness, anna: StoredAccount) -> None:
    await harness.store.pause(Scope.ACCOUNT, anna.id, AuditContext("maria", "holidays"))
    paused = await harness.store.account(anna.id)
    assert (paused.state, paused.reason) == (AccountState.PAUSED, "holidays")
    await harness.store.resume(Scope.ACCOUNT, anna.id, ME)
    assert (await harness.store.account(anna.id)).state is AccountState.ACTIVE
