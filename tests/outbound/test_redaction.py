"""Secrets never appear in errors, logs or representations."""

from __future__ import annotations

import traceback
from datetime import timedelta
from urllib.parse import quote

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from postino.errors import PostinoError
from postino.outbound.http import OutboundHttp
from postino.outbound.redaction import Redaction
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
