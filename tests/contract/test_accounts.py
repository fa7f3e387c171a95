"""Accounts in the store: kept sealed, and their posts held while they are not active."""

from __future__ import annotations

import asyncio
import json

import pytest

from postino.errors import Conflict, NotFound
from postino.stores.records import AuditContext
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.outcome import Done
from postino.values.post import AccountState, StoredAccount
from tests.contract.desk import ME, Desk
from tests.contract.posting import account, create, wanted

EXPIRED = AccountState.TOKEN_EXPIRED


async def expire(desk: Desk, reason: str = "the token has ended") -> StoredAccount:
    return await desk.store.set_account_state("anna", EXPIRED, reason, AuditContext("postino", reason))


async def is_held(desk: Desk) -> bool:
    """Whether a post of this account waits."""
    return await desk.take() == []


@pytest.fixture
async def anna(desk: Desk) -> StoredAccount:
    stored = await desk.store.save_account(account())
    await create(desk.store, wanted())
    return stored


async def test_an_account_is_kept_byte_for_byte(desk: Desk) -> None:
    said = account(brand="rosso", remote_id="did:1", sealed=bytes(range(256)))
    stored = await desk.store.save_account(said)
    assert stored == await desk.store.account("anna")
    assert (stored.sealed, stored.brand, stored.remote_id) == (said.sealed, "rosso", "did:1")
    assert (stored.state, stored.reason, stored.created_at) == (AccountState.ACTIVE, None, desk.clock.now)


async def test_accounts_are_listed_oldest_first(desk: Desk) -> None:
    for name in ("carla", "anna", "bruno"):
        await desk.store.save_account(account(name))
        desk.clock.turn(seconds=1)
    assert [found.id for found in await desk.store.accounts()] == ["carla", "anna", "bruno"]


async def test_an_unknown_account_is_not_found(desk: Desk) -> None:
    for asked in (desk.store.account("nobody"), desk.store.set_account_state("nobody", EXPIRED, "why", ME)):
        with pytest.raises(NotFound, match="Account nobody does not exist"):
            await asked
    assert await desk.store.gates() == []


async def test_new_credentials_replace_the_old_ones_and_nothing_else(desk: Desk, anna: StoredAccount) -> None:
    desk.clock.turn(hours=1)
    again = await desk.store.save_account(account(sealed=b"new", handle="@new"))
    assert (again.sealed, again.handle, again.created_at) == (b"new", "@new", anna.created_at)
    assert len(await desk.store.accounts()) == 1


async def test_an_account_does_not_change_its_network(desk: Desk, anna: StoredAccount) -> None:
    with pytest.raises(Conflict, match="is on mastodon, not on bluesky"):
        await desk.store.save_account(account(network="bluesky"))
    assert await desk.store.account("anna") == anna


async def test_while_its_token_has_ended_its_posts_wait_and_it_is_told(desk: Desk, anna: StoredAccount) -> None:
    marked = await expire(desk)
    assert (marked.state, marked.reason) == (EXPIRED, "the token has ended")
    assert await is_held(desk)
    (event,) = [event for event in await desk.events() if event.type == EventType.ACCOUNT_STATE_CHANGED]
    assert event.data == {"account": "anna", "state": "token_expired", "reason": "the token has ended"}
    (line,) = await desk.store.audit()
    assert (line.actor, line.action, line.subject) == ("postino", "account.state_changed", "account:anna")
    assert json.loads(line.detail) == event.data


async def test_other_accounts_go_on_meanwhile(desk: Desk, anna: StoredAccount) -> None:
    (other,) = await create(desk.store, wanted("bruno"))
    await expire(desk)
    assert [job.id for job in await desk.take()] == [other.job.id]


async def test_connecting_it_again_lets_its_posts_go_on(desk: Desk, anna: StoredAccount) -> None:
    await expire(desk)
    again = await desk.store.save_account(account(sealed=b"new"))
    assert (again.state, again.reason) == (AccountState.ACTIVE, None)
    assert not await is_held(desk)


async def test_marking_it_active_lets_its_posts_go_on_too(desk: Desk, anna: StoredAccount) -> None:
    await expire(desk)
    await desk.store.set_account_state("anna", AccountState.ACTIVE, None, ME)
    assert not await is_held(desk)


async def test_however_often_and_for_whatever_reason_it_was_refused(desk: Desk, anna: StoredAccount) -> None:
    for reason in ("the token has ended", "the password was changed", "the password was changed"):
        await expire(desk, reason)
    assert await is_held(desk)
    await desk.store.save_account(account(sealed=b"new"))
    assert not await is_held(desk)


async def test_a_persons_own_pause_is_left_alone(desk: Desk, anna: StoredAccount) -> None:
    await desk.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await expire(desk)
    gates = await desk.store.gates_for(Scope.ACCOUNT, "anna")
    assert {gate.kind: gate.reason for gate in gates} == {
        GateKind.PAUSE: "holidays", GateKind.TOKEN: "the token has ended"
    }  # fmt: skip
    await desk.store.save_account(account(sealed=b"new"))
    assert [gate.kind for gate in await desk.store.gates()] == [GateKind.PAUSE]
    assert await is_held(desk)
    await desk.store.resume(Scope.ACCOUNT, "anna", ME)
    assert not await is_held(desk)


async def test_nor_is_one_opened_that_a_person_closed_later_for_another_reason(desk: Desk, anna: StoredAccount) -> None:
    await expire(desk)
    await desk.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await desk.store.save_account(account(sealed=b"new"))
    assert await is_held(desk)


async def test_a_person_can_resume_it_only_from_a_persons_pause(desk: Desk, anna: StoredAccount) -> None:
    await expire(desk)
    with pytest.raises(NotFound, match="The account anna is not paused"):
        await desk.store.resume(Scope.ACCOUNT, "anna", ME)
    await desk.store.pause(Scope.ACCOUNT, "anna", AuditContext("maria", "holidays"))
    await desk.store.resume(Scope.ACCOUNT, "anna", ME)
    assert [gate.kind for gate in await desk.store.gates()] == [GateKind.TOKEN]
    assert await is_held(desk)
    await desk.store.save_account(account(sealed=b"new"))
    assert not await is_held(desk)


@pytest.mark.parametrize("reason", ["no\x00luck", "half \ud83d"])
async def test_it_is_held_whatever_the_network_said(desk: Desk, anna: StoredAccount, reason: str) -> None:
    await expire(desk, reason)
    assert await is_held(desk)
    await desk.store.save_account(account(sealed=b"new"))
    assert not await is_held(desk)


async def test_credentials_are_not_shown(desk: Desk, anna: StoredAccount) -> None:
    assert "sealed" not in repr(await desk.store.save_account(account(sealed=b"secret")))


async def test_new_credentials_do_not_end_a_persons_pause(desk: Desk, anna: StoredAccount) -> None:
    await desk.store.set_account_state("anna", AccountState.PAUSED, "holidays", ME)
    stored = await desk.store.save_account(account())
    assert (stored.state, stored.reason) == (AccountState.PAUSED, "holidays")
    assert await is_held(desk)


async def test_an_account_whose_name_is_as_long_as_a_job_s_id_is_one_like_any_other(desk: Desk) -> None:
    name = "mastodon:ada-1a2b3c4d@social.example"
    assert len(name) == 36
    await desk.store.save_account(account(name))
    assert (await desk.store.account(name)).id == name


async def test_of_two_who_add_the_same_account_at_once_one_does(desk: Desk) -> None:
    stores = [desk.store, await desk.another_store()]
    brands = ["rosso", "verde"] * 3
    tries = [stores[number % 2].add_account(account(brand=brand), ME) for number, brand in enumerate(brands)]
    done = await asyncio.gather(*tries, return_exceptions=True)
    [added] = [one for one in done if isinstance(one, StoredAccount)]
    assert sum(isinstance(one, Conflict) for one in done) == len(brands) - 1
    assert await desk.store.account("anna") == added
    assert [line.action for line in await desk.store.audit()] == ["account.added"]


async def test_it_is_given_to_another_brand_only_when_none_of_its_posts_waits(desk: Desk, anna: StoredAccount) -> None:
    with pytest.raises(Conflict, match=r"anna was not given to another brand: 1 of its posts is .* cancel or resolve"):
        await desk.store.save_account(account(brand="rosso", sealed=b"new"))
    assert await desk.store.account("anna") == anna
    [job] = await desk.take()
    with pytest.raises(Conflict):
        await desk.store.save_account(account(brand="rosso"))
    await desk.end(job, Done())
    assert (await desk.store.save_account(account(brand="rosso"), before=anna)).brand == "rosso"
    with pytest.raises(Conflict, match="was given to another brand in the meantime"):
        await desk.store.save_account(account(sealed=b"new"), before=anna)


async def test_what_is_told_of_an_account_keeps_the_brand_it_had_then(desk: Desk) -> None:
    await desk.store.save_account(account(brand="rosso"))
    await expire(desk)
    await desk.store.start_cooldown(Scope.ACCOUNT, "anna", None, "too many")
    await desk.store.save_account(account(brand="verde"))
    await desk.store.pause(Scope.ACCOUNT, "anna", ME)
    await desk.store.pause(Scope.CHANNEL, "mastodon", ME)
    assert [event.data.get("brand") for event in await desk.events()] == ["rosso", "rosso", "rosso", "verde", None]
