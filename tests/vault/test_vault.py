"""Sealed credentials open for their account, with their key and unchanged, and in no other case."""

from __future__ import annotations

import base64
import json
import traceback
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from postino.vault.key_file import read_or_create
from postino.vault.vault import KeyLost, SealBroken, Vault, VaultError, make_vault, rotate_key

OLD, NEW = bytes(range(32)), bytes(range(100, 132))
VAULT = Vault({"old": OLD, "new": NEW}, current="new")
SECRET = {"access_token": "s3cr3t-token", "refresh_token": "s3cr3t-refresh"}
ABOUT = "account-1/credentials"
PLAINS = st.dictionaries(st.text(max_size=8), st.text(max_size=40), max_size=4)


@given(PLAINS, st.text(max_size=20))
def test_sealed_values_open_again(plain: dict[str, str], about: str) -> None:
    assert VAULT.open(VAULT.seal(plain, about), about) == plain


@given(PLAINS, st.text(max_size=20), st.text(max_size=20))
def test_sealed_values_open_for_their_account_only(plain: dict[str, str], about: str, other: str) -> None:
    sealed = VAULT.seal(plain, about)
    if about != other:
        with pytest.raises(SealBroken):
            VAULT.open(sealed, other)


@given(st.lists(st.text(max_size=5), max_size=3), st.lists(st.text(max_size=5), max_size=3))
def test_sealed_values_open_with_the_same_bound_values_only(bound: list[str], others: list[str]) -> None:
    sealed = VAULT.seal(SECRET, ABOUT, bound)
    assert VAULT.open(sealed, ABOUT, bound) == SECRET
    if bound != others:
        with pytest.raises(SealBroken):
            VAULT.open(sealed, ABOUT, others)


def test_sealing_twice_gives_different_bytes() -> None:
    assert VAULT.seal(SECRET, ABOUT) != VAULT.seal(SECRET, ABOUT)


def test_sealed_bytes_contain_no_plain_text() -> None:
    sealed = VAULT.seal(SECRET, ABOUT)
    assert all(text.encode() not in sealed for pair in SECRET.items() for text in pair)


def test_every_changed_byte_is_detected() -> None:
    sealed = VAULT.seal(SECRET, ABOUT)
    for position in range(len(sealed)):
        for bit in (1, 0x80):
            changed = bytearray(sealed)
            changed[position] ^= bit
            with pytest.raises(VaultError):
                VAULT.open(bytes(changed), ABOUT)


def test_truncated_or_extended_values_are_detected() -> None:
    sealed = VAULT.seal(SECRET, ABOUT)
    for end in range(len(sealed)):
        with pytest.raises(SealBroken):
            VAULT.open(sealed[:end], ABOUT)
    with pytest.raises(SealBroken):
        VAULT.open(sealed + b"\0", ABOUT)


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_refused(stored: bytes) -> None:
    with pytest.raises(VaultError):
        VAULT.open(stored, ABOUT)


def test_another_key_with_the_same_id_does_not_open() -> None:
    other = Vault({"new": OLD}, current="new")
    with pytest.raises(SealBroken):
        other.open(VAULT.seal(SECRET, ABOUT), ABOUT)


def test_the_key_id_of_a_sealed_value_cannot_be_replaced() -> None:
    twins = Vault({"one": OLD, "two": OLD}, current="one")
    sealed = twins.seal(SECRET, ABOUT)
    with pytest.raises(SealBroken):
        twins.open(sealed.replace(b"one", b"two", 1), ABOUT)


def test_lost_key_message_says_what_to_do() -> None:
    with pytest.raises(KeyLost) as lost:
        Vault({"new": NEW}, current="new").open(Vault({"old": OLD}, current="old").seal(SECRET, ABOUT), ABOUT)
    for words in (ABOUT, "the key 'old'", "the vault.key of that time", "reconnect the account", "are kept"):
        assert words in str(lost.value)


def test_value_sealed_by_a_newer_version_says_so() -> None:
    with pytest.raises(SealBroken, match="newer Postino"):
        VAULT.open(b"\x02" + VAULT.seal(SECRET, ABOUT)[1:], ABOUT)


def test_sealed_format_is_stable() -> None:
    header, nonce = b"\x01\x03new", bytes(12)
    text = AESGCM(NEW).encrypt(nonce, b'{"token":"value"}', header + ABOUT.encode())
    assert VAULT.open(header + nonce + text, ABOUT) == {"token": "value"}


def test_rotated_keys_still_open_older_values() -> None:
    before = Vault({"old": OLD}, current="old").seal(SECRET, ABOUT)
    assert VAULT.open(before, ABOUT) == SECRET
    assert not VAULT.is_current(before, ABOUT)
    after = VAULT.reseal(before, ABOUT)
    assert VAULT.is_current(after, ABOUT)
    assert Vault({"new": NEW}, current="new").open(after, ABOUT) == SECRET


def test_no_message_or_repr_contains_a_secret() -> None:
    shown = [repr(VAULT), str(VAULT), f"{VAULT!r:>80}"]
    sealed = VAULT.seal(SECRET, ABOUT)
    attempts: list[Any] = [
        lambda: VAULT.open(sealed, "other"),
        lambda: VAULT.open(sealed[:-1], ABOUT),
        lambda: Vault({"k": OLD}, current="k").open(sealed, ABOUT),
        lambda: VAULT.seal({"token": b"s3cr3t-token"}, ABOUT),  # type: ignore[dict-item]
        lambda: Vault({"k": NEW[:31]}, current="k"),
        lambda: Vault({"k": NEW}, current="other"),
    ]
    for attempt in attempts:
        with pytest.raises((VaultError, ValueError, TypeError)) as refused:
            attempt()
        shown += traceback.format_exception_only(refused.value)
        assert refused.value.__cause__ is None
    for text in shown:
        assert "s3cr3t" not in text
        assert all(form not in text for key in (OLD, NEW) for form in forms(key[:31])), text


def forms(key: bytes) -> list[str]:
    return [str(key)[2:-1], key.hex(), base64.b64encode(key).decode()[:20], json.dumps(list(key))[1:-1]]


@pytest.mark.parametrize(
    ("keys", "current"),
    [({}, "a"), ({"a": OLD}, "b"), ({"a": OLD[:16]}, "a"), ({"": OLD}, ""), ({"a" * 256: OLD}, "a" * 256)],
)
def test_vault_with_invalid_keys_is_refused(keys: dict[str, bytes], current: str) -> None:
    with pytest.raises(ValueError, match="key"):
        Vault(keys, current)


def test_vault_is_reloaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "data" / "vault.key"
    sealed = make_vault(read_or_create(path)).seal(SECRET, ABOUT)
    assert make_vault(read_or_create(path)).open(sealed, ABOUT) == SECRET


def test_rotation_makes_the_new_key_current_and_keeps_the_old(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    sealed = make_vault(read_or_create(path)).seal(SECRET, ABOUT)
    turned = rotate_key(path)
    assert not turned.is_current(sealed, ABOUT)
    assert make_vault(read_or_create(path)).open(turned.reseal(sealed, ABOUT), ABOUT) == SECRET
    assert make_vault(read_or_create(path)).open(sealed, ABOUT) == SECRET
    assert make_vault(read_or_create(path)).current == turned.current


def test_after_losing_the_key_file_sealed_values_report_the_lost_key(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    sealed = make_vault(read_or_create(path)).seal(SECRET, ABOUT)
    path.unlink()
    with pytest.raises(KeyLost):
        make_vault(read_or_create(path)).open(sealed, ABOUT)
