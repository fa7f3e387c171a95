"""Keys are proven, never kept; what is wrong about a key or a user is told by its field."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postino.auth.users import PREFIX, SHOWN, role_named
from postino.errors import NotFound, WrongUse
from postino.values.auth import Role
from postino.vault.digests import SecretDigests
from tests.auth.office import ME, Office, everything_in, opened


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        yield office


async def test_a_key_lets_in_who_has_all_of_it(office: Office) -> None:
    made, text = await office.people.add_key("ci", Role.EDITOR, brands=["b"], act=ME)
    assert text.startswith(PREFIX)
    assert len(text) - len(PREFIX) == 43  # 256 bits
    found = await office.people.key_of(text)
    assert found is not None
    assert (found.id, found.role, found.brands) == (made.id, Role.EDITOR, frozenset({"b"}))
    other = "A" if text[-1] != "A" else "B"
    for wrong in (text[:-1], text[:-1] + other, text + "x", text[:SHOWN], text.upper(), "", PREFIX, "é" * 50):
        assert await office.people.key_of(wrong) is None


async def test_what_is_stored_of_a_key_is_its_beginning_and_a_proof(office: Office, tmp_path: Path) -> None:
    _, text = await office.people.add_key("ci", Role.OWNER, act=ME)
    await office.store.close()
    stored = everything_in(tmp_path)
    assert text[:SHOWN].encode() in stored
    assert text.encode() not in stored
    assert text[SHOWN:].encode() not in stored


async def test_a_copy_of_the_database_without_the_key_file_lets_nobody_in(office: Office) -> None:
    _, text = await office.people.add_key("ci", Role.OWNER, act=ME)
    thief = Office(office.store, office.clock)
    assert await thief.people.key_of(text) is None


async def test_two_keys_that_begin_alike_are_told_apart(office: Office) -> None:
    _, first = await office.people.add_key("one", Role.VIEWER, act=ME)
    made, _ = await office.people.add_key("two", Role.OWNER, act=ME)
    twin = first[:SHOWN] + secrets.token_urlsafe(32)[8:]
    await office.store.remove_api_key(made.id, ME)
    alike = replace(made, prefix=first[:SHOWN], digest=office.seals.digest("api key", twin))
    await office.store.add_api_key(alike, ME)
    for text, name in ((first, "one"), (twin, "two")):
        found = await office.people.key_of(text)
        assert found is not None
        assert found.name == name


async def test_a_key_ends_when_it_was_said_to(office: Office) -> None:
    _, text = await office.people.add_key("ci", Role.OWNER, expires_at=office.clock.later(hours=1), act=ME)
    assert await office.people.key_of(text) is not None
    office.clock.turn(hours=1)
    assert await office.people.key_of(text) is None
    with pytest.raises(WrongUse, match="over already") as refused:
        await office.people.add_key("ci", Role.OWNER, expires_at=office.clock.later(seconds=-1), act=ME)
    assert refused.value.field == "expires_at"


async def test_a_removed_key_ends_at_once(office: Office) -> None:
    made, text = await office.people.add_key("ci", Role.OWNER, act=ME)
    assert await office.people.key_of(text) is not None
    await office.store.remove_api_key(made.id, ME)
    assert await office.people.key_of(text) is None


async def test_its_last_use_is_written_at_most_once_a_minute(office: Office) -> None:
    _, text = await office.people.add_key("ci", Role.OWNER, act=ME)
    first = office.clock.now
    for _ in range(5):
        await office.people.key_of(text)
        office.clock.turn(seconds=10)
    [key] = await office.store.api_keys(None, 10)
    assert key.last_used_at == first
    office.clock.turn(seconds=10)
    await office.people.key_of(text)
    [key] = await office.store.api_keys(None, 10)
    assert key.last_used_at == first + timedelta(minutes=1)


async def test_with_a_new_key_in_the_key_file_the_old_ones_still_let_in(office: Office) -> None:
    _, before = await office.people.add_key("before", Role.OWNER, act=ME)
    elsewhere = Office(office.store, office.clock, [*office.keys, secrets.token_bytes(32)])
    _, after = await elsewhere.people.add_key("after", Role.OWNER, act=ME)
    assert await elsewhere.people.key_of(before) is not None
    office.keys.append(elsewhere.keys[-1])  # as the file that both read
    assert await office.people.key_of(after) is not None


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"brands": []}, "brands"),
        ({"brands": ["a", ""]}, "brands[1]"),
        ({"brands": ["x" * 501]}, "brands[0]"),
        ({"brands": [str(number) for number in range(101)]}, "brands"),
    ],
)
async def test_a_wrong_wish_for_a_key_is_refused_by_its_field(
    office: Office, said: dict[str, object], field: str
) -> None:
    with pytest.raises(WrongUse) as refused:
        await office.people.add_key(**{"name": "ci", "role": Role.OWNER, "act": ME, **said})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert await office.trail() == []


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "-ada"}, "name"),
        ({"name": "a" * 101}, "name"),
        ({"name": "äda"}, "name"),
        ({"password": "too short"}, "password"),
        ({"password": "x" * 201}, "password"),
        ({"brands": []}, "brands"),
    ],
)
async def test_a_wrong_wish_for_a_user_is_refused_by_its_field(
    office: Office, said: dict[str, object], field: str
) -> None:
    usual = {"name": "ada", "role": Role.OWNER, "password": "long enough", "act": ME}
    with pytest.raises(WrongUse) as refused:
        await office.people.add_user(**{**usual, **said})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert str(said.get("password", "nothing")) not in str(refused.value)
    assert await office.trail() == []


async def test_a_user_is_found_however_the_name_is_written(office: Office) -> None:
    made = await office.people.add_user(" Ada@Example.org ", Role.VIEWER, act=ME)
    assert made.name == "ada@example.org"
    assert (await office.people.named("ADA@example.org")).id == made.id
    with pytest.raises(NotFound, match="no user bob"):
        await office.people.named("bob")


async def test_what_is_not_said_about_a_user_stays(office: Office) -> None:
    made = await office.people.add_user("ada", Role.VIEWER, password="long enough", brands=["b"], act=ME)
    changed = await office.people.change_user(made.id, {"role": Role.EDITOR}, ME)
    assert (changed.role, changed.brands, changed.password) == (Role.EDITOR, frozenset({"b"}), made.password)
    everything = await office.people.change_user(made.id, {"brands": None, "password": None}, ME)
    assert (everything.brands, everything.password) == (None, None)
    assert await office.trail() == [("maria", "user.added"), ("maria", "user.changed"), ("maria", "user.changed")]


def test_a_role_that_is_none_is_refused() -> None:
    assert role_named("owner") is Role.OWNER
    with pytest.raises(WrongUse, match="owner, editor, viewer"):
        role_named("Owner")


def test_a_proof_holds_for_its_secret_and_its_purpose_alone() -> None:
    key = secrets.token_bytes(32)
    seals = SecretDigests(lambda: [key])
    proof = seals.digest("api key", "secret")
    assert seals.matches("api key", "secret", proof)
    assert not seals.matches("session", "secret", proof)
    assert not seals.matches("api key", "secrets", proof)
    assert not seals.matches("api key", "secret", "")
    assert not seals.matches("api key", "secret", "unknown:" + proof.partition(":")[2])
    assert key.hex() not in repr(seals)
