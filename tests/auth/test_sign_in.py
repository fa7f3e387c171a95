"""Sign-in with passwords and links, sessions, and the throttling of guesses."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher, Type, extract_parameters

from postino.auth.addresses import group_address
from postino.auth.sign_in import (
    BrowserSession,
    SignInRefused,
    SignInThrottled,
    create_sign_in_url,
    derive_csrf_token,
)
from postino.rules.sign_in import USER_POLICY
from postino.values.auth import Role, User
from tests.auth.harness import ME, AuthHarness, open_auth, read_all_files

PASSWORD = "correct horse"
HERE, THERE = "127.0.0.1", "203.0.113.7"


@pytest.fixture
async def auth(tmp_path: Path) -> AsyncIterator[AuthHarness]:
    async with open_auth(tmp_path) as auth:
        yield auth


@pytest.fixture
async def ada(auth: AuthHarness) -> User:
    return await auth.users.add("ada", Role.EDITOR, password=PASSWORD, act=ME)


async def sign_in(auth: AuthHarness, password: str = PASSWORD) -> BrowserSession:
    session = await auth.sign_in.login("ada", password, HERE)
    assert isinstance(session, BrowserSession)
    return session


async def test_password_is_stored_as_argon2id_and_signs_its_user_in(auth: AuthHarness, ada: User) -> None:
    assert ada.password is not None
    assert extract_parameters(ada.password).type is Type.ID
    assert PASSWORD not in ada.password
    session = await auth.sign_in.login(" ADA ", PASSWORD, HERE)
    assert isinstance(session, BrowserSession)
    assert session.user.id == ada.id
    assert isinstance(await auth.sign_in.login("ada", PASSWORD + " ", HERE), SignInRefused)


async def test_password_matches_in_any_unicode_composition(auth: AuthHarness) -> None:
    await auth.users.add("ada", Role.VIEWER, password="cafe\u0301 cafe\u0301 forte", act=ME)
    await sign_in(auth, "caf\u00e9 caf\u00e9 forte")


async def test_outdated_password_hash_is_renewed_at_sign_in(auth: AuthHarness, ada: User) -> None:
    older = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    await auth.store.update_password_hash(ada.id, older)
    kept = await sign_in(auth)
    renewed = (await auth.store.user(ada.id)).password
    assert renewed is not None
    assert extract_parameters(renewed) == extract_parameters(ada.password or "")
    assert await auth.sign_in.find_session(kept.cookie) is not None


async def test_cookie_has_256_random_bits_and_only_a_digest_is_stored(
    auth: AuthHarness, ada: User, tmp_path: Path
) -> None:
    session = await sign_in(auth)
    assert len(session.cookie.partition(".")[2]) == 43
    assert session.cookie != (await sign_in(auth)).cookie
    await auth.store.close()
    stored = read_all_files(tmp_path)
    for secret in (session.cookie.partition(".")[2], session.csrf_token, PASSWORD):
        assert secret.encode() not in stored


async def test_idle_session_expires_and_used_session_expires_later(auth: AuthHarness, ada: User) -> None:
    unused, used = await sign_in(auth), await sign_in(auth)
    for _ in range(27):
        auth.clock.turn(hours=11.9)
        assert await auth.sign_in.find_session(used.cookie) is not None
    assert await auth.sign_in.find_session(unused.cookie) is None
    auth.clock.turn(days=1)
    assert await auth.sign_in.find_session(used.cookie) is None


async def test_session_expires_after_its_maximum_lifetime_despite_use(auth: AuthHarness, ada: User) -> None:
    used = await sign_in(auth)
    hours = 0
    while await auth.sign_in.find_session(used.cookie) is not None:
        auth.clock.turn(hours=6)
        hours += 6
    assert hours == 14 * 24


@pytest.mark.parametrize("change", [lambda it: it[:-1], lambda it: it + "x", lambda it: it.partition(".")[2],
                                    lambda it: "", lambda it: "." * 40, lambda it: "é" + it])  # fmt: skip
async def test_altered_cookie_has_no_session(auth: AuthHarness, ada: User, change: object) -> None:
    assert callable(change)
    session = await sign_in(auth)
    assert await auth.sign_in.find_session(change(session.cookie)) is None


async def test_csrf_token_is_bound_to_its_session(auth: AuthHarness, ada: User) -> None:
    first, second = await sign_in(auth), await sign_in(auth)
    assert first.csrf_token == derive_csrf_token(first.cookie)
    assert first.csrf_token != second.csrf_token
    again = await auth.sign_in.find_session(first.cookie)
    assert again is not None
    assert again.csrf_token == first.csrf_token


async def test_logout_ends_one_session_only(auth: AuthHarness, ada: User) -> None:
    first, second = await sign_in(auth), await sign_in(auth)
    await auth.sign_in.logout(first)
    assert await auth.sign_in.find_session(first.cookie) is None
    assert await auth.sign_in.find_session(second.cookie) is not None
    assert (await auth.audit_trail())[-1] == ("user:ada", "session.ended")


async def test_five_of_a_hundred_concurrent_guesses_are_verified(auth: AuthHarness, ada: User) -> None:
    ends = await asyncio.gather(*(auth.sign_in.login("ada", f"guess {turn:06}", HERE) for turn in range(100)))
    assert sum(isinstance(end, SignInRefused) for end in ends) == USER_POLICY.free
    assert {end.seconds for end in ends if isinstance(end, SignInThrottled)} == {1}
    assert isinstance(await auth.sign_in.login("ada", PASSWORD, THERE), SignInThrottled)
    auth.clock.turn(seconds=1)
    assert isinstance(await auth.sign_in.login("ada", PASSWORD, THERE), BrowserSession)


async def test_successful_sign_ins_are_not_throttled(auth: AuthHarness, ada: User) -> None:
    for _ in range(30):
        await sign_in(auth)
    for _ in range(USER_POLICY.free - 1):
        assert isinstance(await auth.sign_in.login("ada", "wrong wrong", HERE), SignInRefused)
    await sign_in(auth)
    assert isinstance(await auth.sign_in.login("ada", "wrong wrong", HERE), SignInRefused)


async def test_address_that_guesses_many_names_is_throttled_alone(auth: AuthHarness, ada: User) -> None:
    ends = [await auth.sign_in.login(f"name{turn}", "guess guess", THERE) for turn in range(25)]
    assert [type(end) for end in ends] == [SignInRefused] * 20 + [SignInThrottled] * 5
    assert isinstance(await auth.sign_in.login("ada", PASSWORD, THERE), SignInThrottled)
    assert isinstance(await auth.sign_in.login("ada", PASSWORD, HERE), BrowserSession)


async def test_password_typed_as_user_name_is_not_stored(auth: AuthHarness, tmp_path: Path) -> None:
    await auth.sign_in.login(PASSWORD, "ada", HERE)
    await auth.store.close()
    assert PASSWORD.encode() not in read_all_files(tmp_path)


async def test_unknown_user_takes_as_long_to_refuse_as_a_known_one(auth: AuthHarness, ada: User) -> None:
    await auth.users.add("linked", Role.VIEWER, act=ME)

    async def seconds(name: str, turn: int) -> float:
        auth.clock.turn(days=2)  # no guess has to wait
        began = time.perf_counter()
        assert isinstance(await auth.sign_in.login(name, f"guess {turn:06}", HERE), SignInRefused)
        return time.perf_counter() - began

    await seconds("ada", 0)
    took = {name: statistics.median([await seconds(name, turn) for turn in range(9)])
            for name in ("ada", "nobody", "linked")}  # fmt: skip
    assert min(took["nobody"], took["linked"]) > took["ada"] / 2, took


async def test_sign_in_link_works_once_and_expires(auth: AuthHarness, ada: User) -> None:
    token = await auth.sign_in.create_link(ada.id, ME)
    for wrong in (token[:-1], token + "x", "", "x.y", token.partition(".")[0] + ".x"):
        assert await auth.sign_in.follow_link(wrong) is None
    session = await auth.sign_in.follow_link(token)
    assert session is not None
    assert session.user.name == "ada"
    assert await auth.sign_in.find_session(session.cookie) is not None
    assert await auth.sign_in.follow_link(token) is None
    late = await auth.sign_in.create_link(ada.id, ME)
    auth.clock.turn(minutes=10)
    assert await auth.sign_in.follow_link(late) is None


async def test_cookie_and_sign_in_link_are_not_interchangeable(auth: AuthHarness, ada: User) -> None:
    token = await auth.sign_in.create_link(ada.id, ME)
    assert await auth.sign_in.find_session(token) is None
    assert await auth.sign_in.follow_link((await sign_in(auth)).cookie) is None


async def test_first_sign_in_url_creates_the_owner_and_the_next_reuses_it(auth: AuthHarness) -> None:
    for _ in range(2):
        link = await create_sign_in_url(auth.users, auth.sign_in, "http://127.0.0.1:8700/", ME)
        address, _, token = link.partition("?token=")
        assert address == "http://127.0.0.1:8700/sign-in"
        session = await auth.sign_in.follow_link(token)
        assert session is not None
        assert (session.user.name, session.user.role) == ("owner", Role.OWNER)
    assert isinstance(await auth.sign_in.login("owner", "", HERE), SignInRefused)
    assert [action for _, action in await auth.audit_trail()].count("user.added") == 1


async def test_repr_of_a_session_hides_its_secrets(auth: AuthHarness, ada: User) -> None:
    session = await sign_in(auth)
    assert session.cookie not in repr(session)
    assert session.csrf_token not in repr(session)


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("a socket", "a socket"),
    ],
)
def test_ipv6_addresses_are_throttled_by_their_64_bit_network(address: str, counted: str) -> None:
    assert group_address(address) == counted
