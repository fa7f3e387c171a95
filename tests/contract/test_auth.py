"""API keys, users, sessions, sign-in links and login throttling on both databases."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from postino.errors import Conflict, NotFound
from postino.rules.sign_in import ADDRESS_POLICY, USER_POLICY, ThrottlePolicy
from postino.stores.store import Store
from postino.values.auth import ApiKey, Role, Session, User
from postino.values.job import new_id
from tests.audit_chain import find_broken_entry
from tests.contract.databases import Clock, Database
from tests.contract.harness import ME, StoreHarness

DIGEST = "abc:0123456789"


def a_key(**fields: Any) -> ApiKey:
    usual = {"id": new_id(), "name": "ci", "prefix": "postino_abcdefgh", "digest": DIGEST, "role": Role.EDITOR}
    return ApiKey(**{**usual, "created_by": ME.actor, **fields})


def a_user(name: str = "ada", **fields: Any) -> User:
    return User(**{"id": new_id(), "name": name, "role": Role.VIEWER, "password": "$argon2id$1", **fields})


def a_session(user: User, clock: Clock, **fields: Any) -> Session:
    return Session(
        **{"id": new_id(), "user_id": user.id, "digest": DIGEST, "expires_at": clock.later(days=14), **fields}
    )


async def actions(store: Store) -> list[str]:
    """Return the audit trail, oldest first, after checking its chain."""
    trail = list(reversed(await store.audit(limit=1000)))
    assert find_broken_entry(trail) is None
    assert all(DIGEST not in line.detail and "argon2" not in line.detail for line in trail)
    return [line.action for line in trail]


async def test_api_key_is_stored_with_all_its_fields(store: Store, clock: Clock) -> None:
    wanted = a_key(brands=frozenset({"b", "a"}), expires_at=clock.later(days=1))
    made = await store.add_api_key(wanted, ME)
    assert made.created_at == clock.now
    result, now = await store.api_keys_by_prefix("postino_abcdefgh")
    assert (list(result), now) == ([made], clock.now)
    assert (made.brands, made.role, made.expires_at) == (frozenset({"a", "b"}), Role.EDITOR, clock.later(days=1))
    assert (await store.api_keys_by_prefix("postino_zzzzzzzz"))[0] == []
    [line] = await store.audit()
    assert (line.actor, line.action, line.subject) == (ME.actor, "api_key.added", f"api_key:{made.id}")
    assert json.loads(line.detail)["brands"] == ["a", "b"]


async def test_api_key_names_are_unique_until_removed(store: Store) -> None:
    made = await store.add_api_key(a_key(), ME)
    with pytest.raises(Conflict, match="There is an API key 'ci' already"):
        await store.add_api_key(a_key(), ME)
    await store.remove_api_key(made.id, ME)
    await store.add_api_key(a_key(), ME)
    assert await actions(store) == ["api_key.added", "api_key.removed", "api_key.added"]


async def test_removed_api_key_is_gone_at_once(store: Store) -> None:
    made = await store.add_api_key(a_key(), ME)
    assert (await store.remove_api_key(made.id, ME)).name == "ci"
    assert (await store.api_keys_by_prefix(made.prefix))[0] == []
    with pytest.raises(NotFound, match=r"API key .* does not exist"):
        await store.remove_api_key(made.id, ME)
    assert await actions(store) == ["api_key.added", "api_key.removed"]


async def test_keys_and_users_are_listed_page_by_page(store: Store) -> None:
    keys = [await store.add_api_key(a_key(name=f"key {number}"), ME) for number in range(5)]
    users = [await store.add_user(a_user(f"user{number}"), ME) for number in range(5)]
    assert list(await store.api_keys(None, 2)) == keys[:2]
    assert list(await store.api_keys(keys[1].id, 10)) == keys[2:]
    assert list(await store.users(None, 2)) == users[:2]
    assert list(await store.users(users[1].id, 10)) == users[2:]


async def test_use_of_an_api_key_is_recorded(store: Store, clock: Clock) -> None:
    made = await store.add_api_key(a_key(), ME)
    clock.turn(minutes=3)
    await store.touch_api_key(made.id)
    [[result], _] = await store.api_keys_by_prefix(made.prefix)
    assert result.last_used_at == clock.now


async def test_concurrent_adds_of_one_user_name_have_one_winner(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store()]
    wanted = [stores[turn % 2].add_user(a_user(), ME) for turn in range(6)]
    ended = await asyncio.gather(*wanted, return_exceptions=True)
    assert sum(isinstance(one, User) for one in ended) == 1
    assert sum(isinstance(one, Conflict) for one in ended) == 5
    assert await actions(harness.store) == ["user.added"]


async def test_new_password_ends_sessions_and_sign_in_links(store: Store, clock: Clock) -> None:
    ada, bob = await store.add_user(a_user(), ME), await store.add_user(a_user("bob"), ME)
    hers, his, link = a_session(ada, clock), a_session(bob, clock), a_session(ada, clock)
    await store.start_session(hers, ME)
    await store.start_session(his, ME)
    await store.add_sign_in_link(link, ME)
    changed = User(id=ada.id, name="ada", role=Role.OWNER, brands=frozenset({"b"}), password="$argon2id$2")
    after = await store.change_user(changed, ["password", "role"], ME)
    assert (after.role, after.brands, after.password) == (Role.OWNER, None, "$argon2id$2")
    assert await store.session(hers.id) is None
    assert await store.sign_in_link(link.id) is None
    assert await store.session(his.id) is not None
    assert (await actions(store))[-1] == "user.changed"


async def test_change_of_the_own_password_ends_all_other_sessions(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    kept, other = a_session(ada, clock), a_session(ada, clock)
    for session in (kept, other):
        await store.start_session(session, ME)
    changed = replace(ada, password="$argon2id$2")
    await store.change_user(changed, ["password"], ME, old_password=ada.password, kept_session=kept.id)
    assert await store.session(kept.id) is not None
    assert await store.session(other.id) is None


async def test_own_new_password_does_not_undo_an_owners_reset(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    await store.change_user(replace(ada, password="$argon2id$reset"), ["password"], ME)
    with pytest.raises(Conflict, match="in the meantime"):
        await store.change_user(replace(ada, password="$argon2id$2"), ["password"], ME, old_password=ada.password)
    assert (await store.user(ada.id)).password == "$argon2id$reset"


async def test_concurrent_changes_of_different_fields_are_both_kept(harness: StoreHarness) -> None:
    ada, other = await harness.store.add_user(a_user(), ME), await harness.open_another_store()
    await asyncio.gather(
        harness.store.change_user(replace(ada, role=Role.EDITOR), ["role"], ME),
        other.change_user(replace(ada, password="$argon2id$2"), ["password"], ME),
        harness.store.change_user(replace(ada, brands=frozenset({"b"})), ["brands"], ME),
    )
    after = await harness.store.user(ada.id)
    assert (after.role, after.password, after.brands) == (Role.EDITOR, "$argon2id$2", frozenset({"b"}))


async def test_new_role_applies_to_existing_sessions(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    session = await store.start_session(a_session(ada, clock), ME)
    await store.change_user(User(id=ada.id, name="ada", role=Role.EDITOR, password=ada.password), ["role"], ME)
    result = await store.session(session.id)
    assert result is not None
    assert (result[0], result[1].role, result[1].password) == (session, Role.EDITOR, None)


async def test_a_removed_user_is_signed_out(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    session = await store.start_session(a_session(ada, clock), ME)
    await store.remove_user(ada.id, ME)
    assert await store.session(session.id) is None
    assert await store.user_by_name("ada") is None
    with pytest.raises(NotFound, match=r"User .* does not exist"):
        await store.user(ada.id)
    with pytest.raises(NotFound, match=r"User .* does not exist"):
        await store.remove_user(ada.id, ME)
    with pytest.raises(NotFound, match=r"User .* does not exist"):
        await store.change_user(ada, ["role"], ME)
    assert await actions(store) == ["user.added", "session.started", "user.removed"]


async def test_a_session_ends_once(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    session = await store.start_session(a_session(ada, clock), ME)
    assert await store.end_session(session.id, ME)
    assert not await store.end_session(session.id, ME)
    assert await actions(store) == ["user.added", "session.started", "session.ended"]


async def test_use_of_a_session_is_recorded(store: Store, clock: Clock) -> None:
    ada = await store.add_user(a_user(), ME)
    session = await store.start_session(a_session(ada, clock), ME)
    clock.turn(hours=1)
    await store.touch_session(session.id)
    result = await store.session(session.id)
    assert result is not None
    assert result[0].seen_at == clock.now


async def test_expired_sessions_are_pruned_by_the_next_login(store: Store, clock: Clock, database: Database) -> None:
    ada = await store.add_user(a_user(), ME)
    for _ in range(3):
        await store.start_session(a_session(ada, clock, expires_at=clock.later(hours=1)), ME)
        await store.add_sign_in_link(a_session(ada, clock, expires_at=clock.later(hours=1)), ME)
    clock.turn(hours=2)
    await store.start_session(a_session(ada, clock), ME)
    assert database.sql("SELECT count(*) FROM {sessions}") == [(1,)]
    assert database.sql("SELECT count(*) FROM {sign_in_links}") == [(0,)]


async def test_sign_in_link_works_once(harness: StoreHarness) -> None:
    ada = await harness.store.add_user(a_user(), ME)
    link = a_session(ada, harness.clock)
    await harness.store.add_sign_in_link(link, ME)
    stores = [harness.store, await harness.open_another_store()]
    followed = await asyncio.gather(
        *(stores[turn % 2].use_sign_in_link(link.id, a_session(ada, harness.clock), ME) for turn in range(8))
    )
    assert sum(one is not None for one in followed) == 1
    assert await actions(harness.store) == ["user.added", "sign_in.made", "session.started"]


async def test_concurrent_login_attempts_are_all_counted(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    tries = {"ada": USER_POLICY, "here": ADDRESS_POLICY}
    result = await asyncio.gather(*(stores[turn % 3].begin_login(tries) for turn in range(30)))
    assert sum(one is None for one in result) == USER_POLICY.free


async def test_throttled_logins_leave_no_rows(harness: StoreHarness, database: Database) -> None:
    policy = ThrottlePolicy(free=1)
    assert await harness.store.begin_login({"here": policy, "ada": policy}) is None
    for name in ("bob", "eve", "x", "zoe"):
        assert await harness.store.begin_login({"here": policy, name: policy}) is not None
    assert database.sql("SELECT subject FROM {login_throttles} ORDER BY subject") == [("ada",), ("here",)]


async def test_login_throttle_survives_a_restart_and_ends(harness: StoreHarness) -> None:
    policies = {"ada": ThrottlePolicy(free=2, first=timedelta(minutes=1), longest=timedelta(minutes=3))}
    assert [await harness.store.begin_login(policies) for _ in range(2)] == [None, None]
    again = await harness.open_another_store()
    assert await again.begin_login(policies) == harness.clock.later(minutes=1)
    harness.clock.turn(minutes=1)
    assert await again.begin_login(policies) is None
    assert await again.begin_login(policies) == harness.clock.later(minutes=2)
    assert await again.begin_login({"bob": policies["ada"]}) is None


async def test_good_login_is_not_counted(store: Store, database: Database) -> None:
    for _ in range(3):
        await store.begin_login({"ada": USER_POLICY, "here": ADDRESS_POLICY})
    await store.forgive_login("ada", "here")
    assert database.sql("SELECT subject, failures FROM {login_throttles}") == [("here", 2)]


async def test_old_login_attempts_are_forgotten(store: Store, database: Database, clock: Clock) -> None:
    for number in range(4):
        await store.begin_login({f"user {number}": USER_POLICY})
    clock.turn(days=2)
    await store.begin_login({"ada": USER_POLICY})
    assert database.sql("SELECT subject, failures FROM {login_throttles}") == [("ada", 1)]


async def test_audit_trail_is_read_from_both_ends(store: Store) -> None:
    for number in range(5):
        await store.add_user(a_user(f"user{number}"), ME)
    assert [line.seq for line in await store.audit_page(None, 2)] == [5, 4]
    assert [line.seq for line in await store.audit_page(4, 10)] == [3, 2, 1]
    assert [line.seq for line in await store.audit_after(0, 2)] == [1, 2]
    assert [line.seq for line in await store.audit_after(3, 10)] == [4, 5]


@pytest.mark.parametrize("table", ["api_keys", "users"])
async def test_database_refuses_an_unknown_role(store: Store, database: Database, table: str) -> None:
    await store.add_api_key(a_key(), ME)
    await store.add_user(a_user(), ME)
    with pytest.raises(database.refusal):
        database.sql(f"UPDATE {{{table}}} SET role = 'emperor'")


def test_repr_shows_no_secret(clock: Clock) -> None:
    shown = repr([a_key(), a_user(), a_session(a_user(), clock)])
    assert DIGEST not in shown
    assert "argon2" not in shown
