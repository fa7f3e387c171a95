"""Secrets never appear in errors, logs or representations."""

from __future__ import annotations

import base64
import html
import json
import traceback
from datetime import timedelta
from urllib.parse import quote, quote_plus

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from postino.errors import PostinoError
from postino.outbound.http import OutboundHttp
from postino.outbound.redaction import MAX_ERROR_BYTES, LearnedSecrets, Redaction
from tests.outbound.conftest import Serve
from tests.outbound.raw_server import Visit, polite
from tests.outbound.test_http import free_port, hang_up_after_reading

TOKEN = "123456:AAEh-bot/token+x"
SOON = timedelta(seconds=5)


@given(st.text(min_size=4), st.text(), st.text())
def test_secret_is_redacted_at_every_position(secret: str, before: str, after: str) -> None:
    assert secret not in Redaction([secret])(f"{before}{secret}{after}") or secret in "[secret]"


@pytest.mark.parametrize("form", [TOKEN, quote(TOKEN), quote(TOKEN, safe=""), 'a"b\\c', "ä€", quote("ä€")])
def test_secret_is_redacted_in_every_encoding(form: str) -> None:
    assert Redaction([TOKEN, 'a"b\\c', "ä€"])(f"<{form}>") == "<[secret]>"


LONG = "secr3t/with+all&<kinds>'of\"signs\\ä"


@pytest.mark.parametrize(
    "form",
    [
        quote(LONG),
        quote(LONG, safe="").lower(),
        quote_plus(LONG),
        quote(quote(LONG, safe=""), safe=""),
        json.dumps(LONG)[1:-1],
        json.dumps(LONG, ensure_ascii=False)[1:-1],
        json.dumps(LONG)[1:-1].replace("/", "\\/"),
        html.escape(LONG),
        html.escape(LONG, quote=False),
        LONG.encode().hex(),
        base64.b64encode(LONG.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(LONG.encode()).decode().rstrip("="),
        f" {LONG}\n",
    ],
)
def test_secret_is_redacted_in_encodings_of_others(form: str) -> None:
    """Also in those in which no request sends it, but in which a server may repeat it."""
    for redacted in (Redaction([LONG])(f"<{form}>"), Redaction([LONG]).redact_body(f"<{form}>".encode()).decode()):
        assert "[secret]" in redacted
        assert len(redacted) <= len("< [secret]xx>\n")


@pytest.mark.parametrize("before", ["", "a", "ab", "user:", "longer name:"])
def test_secret_within_base64_is_redacted(before: str) -> None:
    encoded = base64.b64encode(f"{before}{LONG}:after".encode()).decode()
    shown = Redaction([LONG])(encoded)
    assert "[secret]" in shown
    beside = shown.replace("[secret]", "")
    assert len(beside) <= 4 * (len(f"{before}:after") + 6) / 3  # at most a character of the secret on each side


def test_secret_within_another_is_redacted_whole() -> None:
    assert Redaction(["abc", "abcdef", ""])("abcdef abc") == "[secret] [secret]"


async def test_token_in_path_is_neither_raised_nor_logged(serve: Serve) -> None:
    server = await serve(hang_up_after_reading)
    urls = [f"{server.url}/bot{TOKEN}/send", f"http://127.0.0.1:{free_port()}/bot{TOKEN}/send?key={TOKEN}"]
    async with OutboundHttp() as outbound:
        for url in [*urls, f"http://{quote(TOKEN, safe='')}@127.0.0.1:{free_port()}/", f"nonsense{TOKEN}"]:
            passage = outbound.open(timeout=SOON, visible=True, secrets=[TOKEN])
            with structlog.testing.capture_logs() as logs, pytest.raises(PostinoError) as raised:
                await passage.request("POST", url, headers={"X": f"Bearer {TOKEN}"}, json={"key": TOKEN})
            shown = "".join(traceback.format_exception(raised.value))
            assert "AAEh" not in f"{raised.value}{shown}{logs}{passage!r}"


async def test_url_with_credentials_is_refused_without_showing_them(outbound: OutboundHttp) -> None:
    with pytest.raises(PostinoError) as raised:
        await outbound.open(timeout=SOON, visible=False).fetch("http://alice:wonder@social.test/a.png", most=10)
    assert "wonder" not in str(raised.value)


async def test_error_response_with_token_is_redacted(outbound: OutboundHttp, serve: Serve) -> None:
    async def complain(visit: Visit) -> None:
        await visit.request()
        await visit.answer(400, f'{{"error": "Malformed token {TOKEN}", "code": 42}}'.encode())

    passage = outbound.open(timeout=SOON, visible=True, secrets=[TOKEN, "42"])
    answer = await passage.request("POST", (await serve(complain)).url)
    assert answer.json() == {"error": "Malformed token [secret]", "code": 42}


async def test_every_request_logs_one_line(outbound: OutboundHttp, serve: Serve) -> None:
    server = await serve(polite)
    with structlog.testing.capture_logs() as logs:
        await outbound.open(timeout=SOON, visible=False).request("GET", f"{server.url}/a", params={"key": "k"})
    [line] = logs
    assert line["ms"] >= 0
    results = {name: line[name] for name in ("event", "log_level", "method", "url", "status")}
    expected = {"event": "call", "log_level": "debug", "method": "GET", "url": f"{server.url}/a", "status": "200"}
    assert results == expected


async def test_reason_from_caller_is_redacted(outbound: OutboundHttp, serve: Serve) -> None:
    async def nobody_comes(visit: Visit) -> None:
        raise AssertionError

    server = await serve(nobody_comes)
    passage = outbound.open(timeout=SOON, visible=True, secrets=[TOKEN], may_send=lambda: f"{TOKEN} is over")
    with pytest.raises(PostinoError, match=r"\[secret\] is over"):
        await passage.request("POST", server.url)


FRESH = "opaque-session-token-1"


async def test_sent_authorization_is_redacted_in_every_later_error(outbound: OutboundHttp, serve: Serve) -> None:
    """A session token is no credential of the account: the redaction learns it when it is sent."""

    async def complain(visit: Visit) -> None:
        await visit.request()
        await visit.answer(400, f'{{"error": "unknown token {FRESH}, {TOKEN[3:]}"}}'.encode())

    server = await serve(complain)
    passage = outbound.open(timeout=SOON, visible=True)
    answer = await passage.request("POST", server.url, headers={"Authorization": f"Bearer {FRESH}"})
    assert FRESH not in answer.body.decode()
    other = await outbound.open(timeout=SOON, visible=True).request("POST", server.url)
    assert FRESH not in other.body.decode()


async def test_token_of_a_response_is_redacted_in_later_errors(outbound: OutboundHttp, serve: Serve) -> None:
    """The new refresh token of a session is in no request until it is used."""
    bodies = [(200, f'{{"did": "x", "refreshJwt": "{FRESH}"}}'), (400, f'{{"error": "{FRESH} is not known"}}')]

    async def respond(visit: Visit) -> None:
        await visit.request()
        status, body = bodies.pop(0)
        await visit.answer(status, body.encode())

    server = await serve(respond)
    signed_in = await outbound.open(timeout=SOON, visible=False).request("POST", server.url)
    assert signed_in.json()["refreshJwt"] == FRESH
    answer = await outbound.open(timeout=SOON, visible=True).request("POST", server.url)
    assert answer.json() == {"error": "[secret] is not known"}


def test_long_error_responses_are_cut_without_breaking_a_secret() -> None:
    for position in range(MAX_ERROR_BYTES - 30, MAX_ERROR_BYTES + 30, 7):
        body = b"x" * position + FRESH.encode() + b"x" * 100_000
        redacted = Redaction([FRESH]).redact_body(body)
        assert len(redacted) <= MAX_ERROR_BYTES
        assert b"opaque" not in redacted


def test_learned_secrets_are_bounded() -> None:
    learned = LearnedSecrets()
    for number in range(1000):
        learned.learn(f"host{number}", [f"token number {number}"])
        learned.learn("busy", [f"token number {number}"])
    assert [*learned.list_forms("host0")] == []
    assert "token number 999" in [*learned.list_forms("busy")]
    assert "token number 1" not in [*learned.list_forms("busy")]
