"""Error responses of the networks, and the messages for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.providers.bluesky import Bluesky
from postino.providers.mastodon import Mastodon
from postino.providers.registry import load_built_in
from postino.providers.telegram import Telegram
from postino.rules.failures import is_definite_refusal
from postino.values.provider import Answer, Failure, FailureKind, Provider

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
NETWORKS: dict[str, Provider] = {
    "bluesky": Bluesky(lambda: NOW), "mastodon": Mastodon(lambda: NOW), "telegram": Telegram(lambda: NOW),
}  # fmt: skip


def classify(network: str, status: int, body: Any, **headers: str) -> Failure:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return NETWORKS[network].classify(Answer(status, names, content))


def bluesky(code: str, message: str = "") -> dict[str, str]:
    return {"error": code, "message": message}


def telegram(status: int, description: str, **parameters: int) -> dict[str, Any]:
    return {"ok": False, "error_code": status, "description": description, "parameters": parameters}


@pytest.mark.parametrize(
    ("network", "status", "body", "kind", "words"),
    [
        ("bluesky", 400, bluesky("ExpiredToken", "Token has expired"), FailureKind.AUTH, "reconnect"),
        ("bluesky", 400, bluesky("InvalidToken"), FailureKind.AUTH, "reconnect"),
        ("bluesky", 401, bluesky("AuthenticationRequired"), FailureKind.AUTH, "app password"),
        ("bluesky", 401, bluesky("AuthFactorTokenRequired"), FailureKind.AUTH, "app password"),
        ("bluesky", 401, bluesky("AccountTakedown"), FailureKind.SUSPENDED, "suspended"),
        ("bluesky", 400, bluesky("InvalidSwap", "Record was at bafy"), FailureKind.DOUBT, "looks"),
        ("bluesky", 400, bluesky("BlobNotFound"), FailureKind.PERMANENT, "Upload it again"),
        ("bluesky", 413, bluesky("PayloadTooLarge", "request entity too large"), FailureKind.PERMANENT, "smaller"),
        ("bluesky", 500, bluesky("InternalServerError"), FailureKind.TRANSIENT, "temporary problem"),
        ("bluesky", 502, bluesky("InvalidSwap"), FailureKind.TRANSIENT, "temporary problem"),
        ("bluesky", 400, bluesky("InvalidRequest", "Input/record is odd"),
         FailureKind.PERMANENT, "Input/record is odd"),
        ("bluesky", 404, b"<html>gone</html>", FailureKind.PERMANENT, "status 404"),
        ("bluesky", 400, b'{"error": "RecordNo', FailureKind.DOUBT, "looks"),
        ("mastodon", 401, {"error": "The access token is invalid"}, FailureKind.AUTH, "Reconnect"),
        ("mastodon", 403, {"error": "This action is outside the authorized scopes"},
         FailureKind.AUTH, "Allow it to write"),
        ("mastodon", 403, {"error": "Your login is currently disabled"}, FailureKind.SUSPENDED, "blocked"),
        ("mastodon", 403, {"error": "This action is not allowed"}, FailureKind.PERMANENT, "This action is not allowed"),
        ("mastodon", 422, {"error": "Validation failed: Text character limit of 500"},
         FailureKind.PERMANENT, "Shorten"),
        ("mastodon", 422, {"error": "Validation failed: Text can't be blank"}, FailureKind.PERMANENT, "needs text"),
        ("mastodon", 422, {"error": "Cannot attach files that have not finished processing."},
         FailureKind.TRANSIENT, "still processing"),
        ("mastodon", 422, {"error": "Cannot attach more than 4 files"}, FailureKind.PERMANENT, "Remove some"),
        ("mastodon", 422, {"error": "Validation failed: File content type is invalid"},
         FailureKind.PERMANENT, "another type"),
        ("mastodon", 413, b"<html>nginx</html>", FailureKind.PERMANENT, "smaller"),
        ("mastodon", 422, b'{"error": "Cannot att', FailureKind.DOUBT, "looks"),
        ("mastodon", 409, {"error": "Duplicate"}, FailureKind.DOUBT, "looks"),
        ("mastodon", 503, b"", FailureKind.TRANSIENT, "temporary problem"),
        ("mastodon", 504, b"<html>", FailureKind.TRANSIENT, "temporary problem"),
        ("mastodon", 301, b"", FailureKind.PERMANENT, "status 301"),
        ("telegram", 401, telegram(401, "Unauthorized"), FailureKind.AUTH, "@BotFather"),
        ("telegram", 404, telegram(404, "Not Found"), FailureKind.AUTH, "@BotFather"),
        ("telegram", 403, telegram(403, "Forbidden: bot was blocked by the user"), FailureKind.SUSPENDED, "removed"),
        ("telegram", 400, telegram(400, "Bad Request: chat not found"),
         FailureKind.SUSPENDED, "does not know this chat"),
        ("telegram", 400, telegram(400, "Bad Request: not enough rights to send text messages to the chat"),
         FailureKind.SUSPENDED, "administrator"),
        ("telegram", 400, telegram(400, "Bad Request: not enough rights to send photos to the chat"),
         FailureKind.PERMANENT, "this type of media"),
        ("telegram", 400, telegram(400, "Bad Request: message is too long"),
         FailureKind.PERMANENT, "The text is too long"),
        ("telegram", 400, telegram(400, "Bad Request: message caption is too long"), FailureKind.PERMANENT, "caption"),
        ("telegram", 400, telegram(400, "Bad Request: group chat was upgraded to a supergroup chat",
                                   migrate_to_chat_id=-1001), FailureKind.SUSPENDED, "Reconnect"),
        ("telegram", 400, telegram(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"),
         FailureKind.PERMANENT, "Choose another"),
        ("telegram", 413, telegram(413, "Request Entity Too Large"), FailureKind.PERMANENT, "smaller"),
        ("telegram", 502, b"<html>", FailureKind.TRANSIENT, "temporary problem"),
        ("telegram", 400, telegram(400, "Bad Request: something new"), FailureKind.PERMANENT, "something new"),
    ],
)  # fmt: skip
def test_error_response_is_classified_with_a_clear_message(
    network: str, status: int, body: Any, kind: FailureKind, words: str
) -> None:
    failure = classify(network, status, body)
    assert failure.kind is kind
    assert words in failure.message


@pytest.mark.parametrize(
    ("network", "body", "headers", "seconds"),
    [
        ("bluesky", bluesky("RateLimitExceeded"), {"ratelimit_reset": str(int(NOW.timestamp()) + 90)}, 90),
        ("bluesky", bluesky("RateLimitExceeded"), {"retry_after": "5", "ratelimit_reset": "9999999999"}, 5),
        ("bluesky", bluesky("RateLimitExceeded"), {}, None),
        ("mastodon", {"error": "Too many requests"}, {"x_ratelimit_reset": "2026-11-16T12:01:30.000Z"}, 90),
        ("mastodon", {"error": "Too many requests"}, {"retry_after": "Mon, 16 Nov 2026 12:01:30 GMT"}, 90),
        ("telegram", telegram(429, "Too Many Requests: retry after 90", retry_after=90), {}, 90),
        ("telegram", telegram(429, "Too Many Requests"), {}, None),
    ],
)
def test_rate_limit_ends_when_the_network_says(
    network: str, body: Any, headers: dict[str, str], seconds: int | None
) -> None:
    failure = classify(network, 429, body, **headers)
    assert failure.kind is FailureKind.RATE_LIMIT
    assert failure.until == (None if seconds is None else NOW + timedelta(seconds=seconds))
    assert is_definite_refusal(failure)


def test_retry_after_counts_only_where_waiting_helps() -> None:
    assert classify("mastodon", 503, b"", retry_after="30").until == NOW + timedelta(seconds=30)
    assert classify("mastodon", 403, b"", retry_after="30").until is None


ANY_BODY = st.binary() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "error_description", "description", "parameters", "retry_after"]),
            inner,
            max_size=4,
        )
    ),
)


@given(st.sampled_from(sorted(NETWORKS)), st.integers(100, 599), ANY_BODY)
def test_every_response_becomes_a_failure_with_a_message(network: str, status: int, body: Any) -> None:
    failure = classify(network, status, body)
    assert failure.message.strip()
    if status in (408, 409, 425) or status >= 500:
        assert not is_definite_refusal(failure)


def test_every_built_in_network_is_registered_by_name() -> None:
    providers = load_built_in().providers
    assert providers.keys() == NETWORKS.keys()
    assert [provider.name for provider in providers.values()] == [*providers]
    assert all(provider.timeout > timedelta(0) <= provider.listing_delay for provider in providers.values())
