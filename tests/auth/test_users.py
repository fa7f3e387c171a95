"""Users and API keys: creation, validation and authentication."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postino.auth.api_keys import PREFIX, VISIBLE
from postino.auth.user_checks import parse_role
from postino.errors import NotFound, WrongUse
from postino.values.auth import Role
from postino.vault.digests import SecretDigests
from tests.auth.harness import ME, AuthHarness, open_auth, read_all_files


@pytest.fixture
async def auth(tmp_path: Path) -> AsyncIterator[AuthHarness]:
    async with open_auth(tmp_path) as auth:
        yield auth


async def test_api_key_authenticates_only_with_its_full_text(auth: AuthHarness) -> None:
    made, text = await auth.api_keys.add("ci", Role.EDITOR, brands=["b"], act=ME)
    assert text.startswith(PREFIX)
    assert len(text) - len(PREFIX) == 43  # 256 bits
    result = await auth.api_keys.authenticate(text)
    assert result is not None
    assert (result.id, result.role, result.brands) == (made.id, Role.EDITOR, frozenset({"b"}))
    other = "A" if text[-1] != "A" else "B"
    for altered in (text[:-1], text[:-1] + other, text + "x", text[:VISIBLE], text.upper(), "", PREFIX, "é" * 50):
        assert await auth.api_keys.authenticate(altered) is None


async def test_only_prefix_and_digest_of_an_api_key_are_stored(auth: AuthHarness, tmp_path: Path) -> None:
    _, text = await auth.api_keys.add("ci", Role.OWNER, act=ME)
    await auth.store.close()
    stored = read_all_files(tmp_path)
    assert text[:VISIBLE].encode() in stored
    assert text.encode() not in stored
    assert text[VISIBLE:].encode() not in stored


async def test_database_copy_without_key_file_authenticates_no_user(auth: AuthHarness) -> None:
    _, text = await auth.api_keys.add("ci", Role.OWNER, act=ME)
    copy = AuthHarness(auth.store, auth.clock)
    assert await copy.api_keys.authenticate(text) is None


async def test_api_keys_with_the_same_prefix_are_distinguished(auth: AuthHarness) -> None:
    _, first = await auth.api_keys.add("one", Role.VIEWER, act=ME)
    made, _ = await auth.api_keys.add("two", Role.OWNER, act=ME)
    other_text = first[:VISIBLE] + secrets.token_urlsafe(32)[8:]
    await auth.store.remove_api_key(made.id, ME)
    alike = replace(made, prefix=first[:VISIBLE], digest=await auth.digests.digest("api key", other_text))
    await auth.store.add_api_key(alike, ME)
    for text, name in ((first, "one"), (other_text, "two")):
        result = await auth.api_keys.authenticate(text)
        assert result is not None
        assert result.name == name


async def test_api_key_expires_at_its_time(auth: AuthHarness) -> None:
    _, text = await auth.api_keys.add("ci", Role.OWNER, expires_at=auth.clock.later(hours=1), act=ME)
    assert await auth.api_keys.authenticate(text) is not None
    auth.clock.turn(hours=1)
    assert await auth.api_keys.authenticate(text) is None
    with pytest.raises(WrongUse, match="has passed") as refused:
        await auth.api_keys.add("ci", Role.OWNER, expires_at=auth.clock.later(seconds=-1), act=ME)
    assert refused.value.field == "expires_at"


async def test_revoked_api_key_stops_working_immediately(auth: AuthHarness) -> None:
    made, text = await auth.api_keys.add("ci", Role.OWNER, act=ME)
    assert await auth.api_keys.authenticate(text) is not None
    await auth.store.remove_api_key(made.id, ME)
    assert await auth.api_keys.authenticate(text) is None


async def test_last_use_of_an_api_key_is_written_at_most_once_a_minute(auth: AuthHarness) -> None:
    _, text = await auth.api_keys.add("ci", Role.OWNER, act=ME)
    first = auth.clock.now
    for _ in range(5):
        await auth.api_keys.authenticate(text)
        auth.clock.turn(seconds=10)
    [key] = await auth.store.api_keys(None, 10)
    assert key.last_used_at == first
    auth.clock.turn(seconds=10)
    await auth.api_keys.authenticate(text)
    [key] = await auth.store.api_keys(None, 10)
    assert key.last_used_at == first + timedelta(minutes=1)


async def test_api_keys_keep_working_after_the_vault_key_is_rotated(auth: AuthHarness) -> None:
    _, before = await auth.api_keys.add("before", Role.OWNER, act=ME)
    elsewhere = AuthHarness(auth.store, auth.clock, [*auth.keys, secrets.token_bytes(32)])
    _, after = await elsewhere.api_keys.add("after", Role.OWNER, act=ME)
    assert await elsewhere.api_keys.authenticate(before) is not None
    auth.keys.append(elsewhere.keys[-1])  # as the file that both read
    assert await auth.api_keys.authenticate(after) is not None


@pytest.mark.parametrize(
    ("changes", "field"),
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
async def test_invalid_api_key_request_names_the_field(
    auth: AuthHarness, changes: dict[str, object], field: str
) -> None:
    with pytest.raises(WrongUse) as refused:
        await auth.api_keys.add(**{"name": "ci", "role": Role.OWNER, "act": ME, **changes})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert await auth.audit_trail() == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "-ada"}, "name"),
        ({"name": "a" * 101}, "name"),
        ({"name": "äda"}, "name"),
        ({"password": "eleven char"}, "password"),
        ({"password": "password12"}, "password"),
        ({"password": "postino12345"}, "password"),
        ({"password": "ada-ada-ada-"}, "password"),
        ({"password": "x" * 201}, "password"),
        ({"brands": []}, "brands"),
    ],
)
async def test_invalid_user_request_names_the_field(auth: AuthHarness, changes: dict[str, object], field: str) -> None:
    usual = {"name": "ada", "role": Role.OWNER, "password": "long enough words", "act": ME}
    with pytest.raises(WrongUse) as refused:
        await auth.users.add(**{**usual, **changes})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert str(changes.get("password", "nothing")) not in str(refused.value)
    assert await auth.audit_trail() == []


async def test_user_name_lookup_ignores_case(auth: AuthHarness) -> None:
    made = await auth.users.add(" Ada@Example.org ", Role.VIEWER, act=ME)
    assert made.name == "ada@example.org"
    assert (await auth.users.get_by_name("ADA@example.org")).id == made.id
    with pytest.raises(NotFound, match="User bob does not exist"):
        await auth.users.get_by_name("bob")


async def test_changing_a_user_keeps_absent_fields(auth: AuthHarness) -> None:
    made = await auth.users.add("ada", Role.VIEWER, password="long enough words", brands=["b"], act=ME)
    changed = await auth.users.change(made.id, {"role": Role.EDITOR}, ME)
    assert (changed.role, changed.brands, changed.password) == (Role.EDITOR, frozenset({"b"}), made.password)
    everything = await auth.users.change(made.id, {"brands": None, "password": None}, ME)
    assert (everything.brands, everything.password) == (None, None)
    assert await auth.audit_trail() == [("maria", "user.added"), ("maria", "user.changed"), ("maria", "user.changed")]


def test_unknown_role_is_refused() -> None:
    assert parse_role("owner") is Role.OWNER
    with pytest.raises(WrongUse, match="owner, editor, viewer"):
        parse_role("Owner")


async def test_digest_matches_only_its_secret_and_purpose() -> None:
    key = secrets.token_bytes(32)

    async def load_keys() -> list[bytes]:
        return [key]

    digests = SecretDigests(load_keys, load_keys)
    proof = await digests.digest("api key", "secret")
    assert await digests.matches("api key", "secret", proof)
    assert not await digests.matches("session", "secret", proof)
    assert not await digests.matches("api key", "secrets", proof)
    assert not await digests.matches("api key", "secret", "")
    assert not await digests.matches("api key", "secret", "unknown:" + proof.partition(":")[2])
    assert key.hex() not in repr(digests)
