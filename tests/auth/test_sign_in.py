"""Passwords, links and sessions: who comes in, for how long, and how long guessing takes."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher, Type, extract_parameters

from postino.auth.sign_in import (
    BrowserSession,
    SignInRefused,
    SignInThrottled,
    csrf_token,
    make_sign_in_link,
    neighbourhood,
)
from postino.rules.login_throttle import USER
from postino.values.auth import Role, User
from tests.auth.office import ME, Office, everything_in, opened

PASSWORD = "correct horse"
HERE, THERE = "127.0.0.1", "203.0.113.7"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        yield office


@pytest.fixture
async def ada(office: Office) -> User:
    return await office.people.add_user("ada", Role.EDITOR, password=PASSWORD, act=ME)


async def signed_in(office: Office, password: str = PASSWORD) -> BrowserSession:
    found = await office.signing_in.login("ada", password, HERE)
    assert isinstance(found, BrowserSession)
    return found


async def test_a_password_is_kept_as_argon2id_and_lets_its_user_in(office: Office, ada: User) -> None:
    assert ada.password is not None
    assert extract_parameters(ada.password).type is Type.ID
    assert PASSWORD not in ada.password
    found = await office.signing_in.login(" ADA ", PASSWORD, HERE)
    assert isinstance(found, BrowserSession)
    assert found.user.id == ada.id
    assert isinstance(await office.signing_in.login("ada", PASSWORD + " ", HERE), SignInRefused)


async def test_letters_composed_in_another_way_are_the_same_password(office: Office) -> None:
    await office.people.add_user("ada", Role.VIEWER, password="cafe\u0301 cafe\u0301", act=ME)
    await signed_in(office, "caf\u00e9 caf\u00e9")


async def test_a_proof_of_an_older_kind_is_renewed_when_its_user_comes_in(office: Office, ada: User) -> None:
    older = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    await office.store.update_password_hash(ada.id, older)
    kept = await signed_in(office)
    renewed = (await office.store.user(ada.id)).password
    assert renewed is not None
    assert extract_parameters(renewed) == extract_parameters(ada.password or "")
    assert await office.signing_in.session_of(kept.cookie) is not None


async def test_a_cookie_is_256_random_bits_of_which_only_a_proof_is_stored(
    office: Office, ada: User, tmp_path: Path
) -> None:
    found = await signed_in(office)
    assert len(found.cookie.partition(".")[2]) == 43
    assert found.cookie != (await signed_in(office)).cookie
    await office.store.close()
    stored = everything_in(tmp_path)
    for secret in (found.cookie.partition(".")[2], found.csrf_token, PASSWORD):
        assert secret.encode() not in stored


async def test_a_session_that_nobody_uses_ends_and_one_in_use_ends_in_the_end(office: Office, ada: User) -> None:
    unused, used = await signed_in(office), await signed_in(office)
    for _ in range(27):
        office.clock.turn(hours=11.9)
        assert await office.signing_in.session_of(used.cookie) is not None
    assert await office.signing_in.session_of(unused.cookie) is None
    office.clock.turn(days=1)
    assert await office.signing_in.session_of(used.cookie) is None


async def test_a_session_ends_after_its_longest_time_however_much_it_is_used(office: Office, ada: User) -> None:
    used = await signed_in(office)
    hours = 0
    while await office.signing_in.session_of(used.cookie) is not None:
        office.clock.turn(hours=6)
        hours += 6
    assert hours == 14 * 24


@pytest.mark.parametrize("change", [lambda it: it[:-1], lambda it: it + "x", lambda it: it.partition(".")[2],
                                    lambda it: "", lambda it: "." * 40, lambda it: "é" + it])  # fmt: skip
async def test_a_cookie_that_is_not_quite_right_is_nobodys(office: Office, ada: User, change: object) -> None:
    assert callable(change)
    found = await signed_in(office)
    assert await office.signing_in.session_of(change(found.cookie)) is None


async def test_the_token_for_changes_is_bound_to_its_session(office: Office, ada: User) -> None:
    first, second = await signed_in(office), await signed_in(office)
    assert first.csrf_token == csrf_token(first.cookie)
    assert first.csrf_token != second.csrf_token
    again = await office.signing_in.session_of(first.cookie)
    assert again is not None
    assert again.csrf_token == first.csrf_token


async def test_who_signs_out_is_out_and_others_are_not(office: Office, ada: User) -> None:
    first, second = await signed_in(office), await signed_in(office)
    await office.signing_in.logout(first)
    assert await office.signing_in.session_of(first.cookie) is None
    assert await office.signing_in.session_of(second.cookie) is not None
    assert (await office.trail())[-1] == ("user:ada", "session.ended")


async def test_of_a_hundred_guesses_at_once_five_are_looked_at(office: Office, ada: User) -> None:
    ends = await asyncio.gather(*(office.signing_in.login("ada", f"guess {turn:06}", HERE) for turn in range(100)))
    assert sum(isinstance(end, SignInRefused) for end in ends) == USER.free
    assert {end.seconds for end in ends if isinstance(end, SignInThrottled)} == {1}
    assert isinstance(await office.signing_in.login("ada", PASSWORD, THERE), SignInThrottled)
    office.clock.turn(seconds=1)
    assert isinstance(await office.signing_in.login("ada", PASSWORD, THERE), BrowserSession)


async def test_a_good_password_is_not_held_against_anybody(office: Office, ada: User) -> None:
    for _ in range(30):
        await signed_in(office)
    for _ in range(USER.free - 1):
        assert isinstance(await office.signing_in.login("ada", "wrong wrong", HERE), SignInRefused)
    await signed_in(office)
    assert isinstance(await office.signing_in.login("ada", "wrong wrong", HERE), SignInRefused)


async def test_an_address_that_tries_many_names_waits_and_others_do_not(office: Office, ada: User) -> None:
    ends = [await office.signing_in.login(f"name{turn}", "guess guess", THERE) for turn in range(25)]
    assert [type(end) for end in ends] == [SignInRefused] * 20 + [SignInThrottled] * 5
    assert isinstance(await office.signing_in.login("ada", PASSWORD, THERE), SignInThrottled)
    assert isinstance(await office.signing_in.login("ada", PASSWORD, HERE), BrowserSession)


async def test_what_people_type_where_their_name_belongs_is_not_stored(office: Office, tmp_path: Path) -> None:
    await office.signing_in.login(PASSWORD, "ada", HERE)
    await office.store.close()
    assert PASSWORD.encode() not in everything_in(tmp_path)


async def test_a_name_that_does_not_exist_takes_as_long_as_one_that_does(office: Office, ada: User) -> None:
    await office.people.add_user("linked", Role.VIEWER, act=ME)

    async def seconds(name: str, turn: int) -> float:
        office.clock.turn(days=2)  # no guess has to wait
        began = time.perf_counter()
        assert isinstance(await office.signing_in.login(name, f"guess {turn:06}", HERE), SignInRefused)
        return time.perf_counter() - began

    await seconds("ada", 0)
    took = {name: statistics.median([await seconds(name, turn) for turn in range(9)])
            for name in ("ada", "nobody", "linked")}  # fmt: skip
    assert min(took["nobody"], took["linked"]) > took["ada"] / 2, took


async def test_a_link_signs_in_once_within_minutes(office: Office, ada: User) -> None:
    token = await office.signing_in.make_link(ada.id, ME)
    for wrong in (token[:-1], token + "x", "", "x.y", token.partition(".")[0] + ".x"):
        assert await office.signing_in.follow_link(wrong) is None
    found = await office.signing_in.follow_link(token)
    assert found is not None
    assert found.user.name == "ada"
    assert await office.signing_in.session_of(found.cookie) is not None
    assert await office.signing_in.follow_link(token) is None
    late = await office.signing_in.make_link(ada.id, ME)
    office.clock.turn(minutes=10)
    assert await office.signing_in.follow_link(late) is None


async def test_a_cookie_is_no_link_and_a_link_is_no_cookie(office: Office, ada: User) -> None:
    token = await office.signing_in.make_link(ada.id, ME)
    assert await office.signing_in.session_of(token) is None
    assert await office.signing_in.follow_link((await signed_in(office)).cookie) is None


async def test_the_first_link_makes_the_owner_and_the_next_finds_them(office: Office) -> None:
    for _ in range(2):
        link = await make_sign_in_link(office.people, office.signing_in, "http://127.0.0.1:8700/", ME)
        address, _, token = link.partition("?token=")
        assert address == "http://127.0.0.1:8700/sign-in"
        found = await office.signing_in.follow_link(token)
        assert found is not None
        assert (found.user.name, found.user.role) == ("owner", Role.OWNER)
    assert isinstance(await office.signing_in.login("owner", "", HERE), SignInRefused)
    assert [action for _, action in await office.trail()].count("user.added") == 1


async def test_nothing_printed_shows_a_cookie(office: Office, ada: User) -> None:
    found = await signed_in(office)
    assert found.cookie not in repr(found)
    assert found.csrf_token not in repr(found)


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
def test_a_network_of_countless_addresses_guesses_as_one(address: str, counted: str) -> None:
    assert neighbourhood(address) == counted
