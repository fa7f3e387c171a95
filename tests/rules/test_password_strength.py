"""Passwords that people guess first are refused, and passphrases are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.password_strength import count_parts, find_period, is_easy_to_guess

EASY = [
    "password12", "password1234", "P@ssw0rd2024!", "Passw0rd!Passw0rd!", "drowssap1234", "postino12345",
    "welcome2postino", "administrator1", "iloveyou12345", "letmein-letmein", "Summer2026!!", "qwerty123456",
    "qwertyuiop12", "1q2w3e4r5t6y", "zaq12wsxcde3", "abcdefghijkl", "123456789012", "987654321098", "aaaaaaaaaaaa",
    "000000000000x", "xk9xk9xk9xk9", "abababababab", "ada.lovelace", "LOVELACE-1815", "ada-ada-ada-ada1", "",
]  # fmt: skip
HARD = [
    "correct horse", "correct horse battery staple", "four words are enough", "a long enough secret", "k3v9Qz7x1mPa",
    "lucky-penguin-42", "tre tigri contro", "ich mag käsekuchen", "пять разных слов", "gDQ4!vbcZZ12", "x9$Lq2 0vRt&z",
]  # fmt: skip


@pytest.mark.parametrize("password", EASY)
def test_common_words_runs_repetitions_and_names_are_easy_to_guess(password: str) -> None:
    assert is_easy_to_guess(password, "ada.lovelace@example.org")


@pytest.mark.parametrize("password", HARD)
def test_passphrases_and_random_passwords_are_not_easy_to_guess(password: str) -> None:
    assert not is_easy_to_guess(password, "ada.lovelace@example.org")


@given(st.text("abkwxy0189-_!", min_size=1, max_size=6), st.integers(min_value=2, max_value=30))
def test_repetition_adds_nothing(part: str, times: int) -> None:
    assert len(find_period(part * times)) <= len(part)
    assert is_easy_to_guess(part * times, "ada")


@given(st.text(max_size=200), st.text(max_size=100))
def test_strength_of_any_password_is_decided(password: str, name: str) -> None:
    assert is_easy_to_guess(password, name) in (True, False)


@given(st.text(max_size=200))
def test_password_has_at_most_as_many_parts_as_characters(password: str) -> None:
    assert 0 <= count_parts(password, frozenset()) <= len(password)
