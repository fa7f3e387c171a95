"""Tokens are recognised by their form, and words are left alone."""

from __future__ import annotations

import pytest

from postino.rules.token_patterns import hide_tokens, hide_tokens_in_event

JWT = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkaWQ6cGxjOmFiYyJ9.h7ko05hYbzvvfdCBl-_1"
BOT = "123456789:AAEhBOweik9ai2o01dBbsU8nZ-x_YNmeGYd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Malformed token {JWT}.", "Malformed token [secret]."),
        (f"<{JWT.replace('.', '%2E')}>", "<[secret]>"),
        (JWT[:40], "[secret]"),
        (f"https://api.telegram.org/bot{BOT}/getMe", "https://api.telegram.org/bot[secret]/getMe"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [secret]"),
        ("bearer%20abcdefgh12345678", "bearer%20[secret]"),
        ("Basic dXNlcjpwYXNzd29yZDEyMw==", "Basic [secret]"),
        ('{"access_token": "abcdefgh1"}', '{"access_token": "[secret]"}'),
        ("refresh_token=abc123def&x=1", "refresh_token=[secret]&x=1"),
        ('\\"accessJwt\\":\\"abcdefgh1\\"', '\\"accessJwt\\":\\"[secret]\\"'),
        ("client_secret%3Dabcdefghijklmnopqrst", "client_secret%3D[secret]"),
        ("password=correct-horse-battery-staple", "password=[secret]"),
        (f"postino_{'A' * 43}", "[secret]"),
        ("ya29.a0AfH6SMBxxxxxxxxxxxxxxxx", "[secret]"),
    ],
)
def test_tokens_are_hidden(text: str, shown: str) -> None:
    assert hide_tokens(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "The bearer token is missing or invalid.",
        "Use Basic authentication.",
        "Bearer realm=api",
        "password: too short",
        "The access_token has expired.",
        "at://did:plc:spqjten47xbodb3ok74hwjyl/app.bsky.feed.post/3n2ojxcykbk2a",
        "Job 01a1f516-41d3-7ffd-bd36-8481620c5a5a failed at 2026-11-19 18:33:58 UTC.",
        "https://example.org/eyJump?at=12:30",
    ],
)
def test_words_ids_and_times_stay(text: str) -> None:
    assert hide_tokens(text) == text


def test_log_entries_are_filtered() -> None:
    entry = {"event": "failed", "error": f"Bearer {JWT}", "count": 3, "job": None}
    assert hide_tokens_in_event(None, "", entry) == entry | {"error": "Bearer [secret]"}
