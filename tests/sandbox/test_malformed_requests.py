"""Malformed requests get an error of the network, and the sandbox goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from postino.sandbox.networks import networks
from tests.sandbox.sandbox_client import SandboxClient
from tests.sandbox.scripted_calls import SCRIPTED_CALLS, ScriptedCall

NONSENSE: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", " ", "²", "x" * 70_000, "\0", "'; DROP TABLE published; --", "<script>", "٣",
    "9" * 25, "https://", "http://127.0.0.1:1/x", "http://[", "did:plc:x", [], [[]], [None], {}, {"": None},
    {"$type": "blob"},
    {"text": {}, "$type": "app.bsky.feed.post"}, {"images": [1, {"alt": 1}]}, {"uri": 1, "cid": 2},
    {"media_ids": {}}, {"message_id": []}, {"title": 7}, {"privacyStatus": []},
]  # fmt: skip


def make_malformed(scripted_call: ScriptedCall, takes: list[str], chance: random.Random) -> Iterator[ScriptedCall]:
    """Yield copies of the call with one error each."""
    for name in takes:
        value = chance.choice(NONSENSE)
        if "json" in scripted_call.options:
            yield replace(
                scripted_call, options=scripted_call.options | {"json": scripted_call.options["json"] | {name: value}}
            )
        elif scripted_call.form is None and scripted_call.method == "GET":
            params = scripted_call.options.get("params", {}) | {name: str(value)[:2000]}
            yield replace(scripted_call, options=scripted_call.options | {"params": params})
        elif isinstance(scripted_call.options.get("data"), dict):
            yield replace(
                scripted_call,
                options=scripted_call.options | {"data": scripted_call.options["data"] | {name: str(value)}},
            )


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("network", "endpoint"), SCRIPTED_CALLS)
async def test_malformed_requests_are_refused(shared_sandbox: SandboxClient, network: str, endpoint: str) -> None:
    sandbox = shared_sandbox
    [known] = [it for it in networks()[network].endpoints if it.name == endpoint]
    prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
    chance = random.Random(f"{network} {endpoint}")
    for scripted_call in make_malformed(prepared, [*known.takes] * 4, chance):
        response = await scripted_call.send(sandbox)
        assert response.status < 500, (scripted_call, response.text)
    assert (await prepared.send(sandbox)).status < 500


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"text": "\\ud800"}', b"[" * 100_000, b"\xff\xfe", b"\0"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", "multipart/x; boundary=x"])
async def test_unreadable_bodies_are_refused(shared_sandbox: SandboxClient, body: bytes, kind: str) -> None:
    sandbox, before = shared_sandbox, await shared_sandbox.list_published()
    for network, endpoint in (("x", "tweets"), ("mastodon", "statuses"), ("telegram", "sendMessage")):
        prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
        headers = prepared.options.get("headers", {}) | {"Content-Type": kind}
        response = await sandbox.call("POST", prepared.path, data=body, headers=headers)
        assert 400 <= response.status < 500, response.text
    assert await sandbox.list_published() == before


@pytest.mark.parametrize("header", ["Authorization", "Idempotency-Key", "Content-Range", "X-Upload-Content-Length"])
async def test_headers_that_are_not_utf8_are_accepted(sandbox: SandboxClient, header: str) -> None:
    for network, endpoint in (("mastodon", "statuses"), ("youtube", "upload_start"), ("youtube", "upload_bytes")):
        prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
        for value in ("Bearer \udcff", "bytes 0-1/" + "9" * 5000, "²"):
            headers = prepared.options.get("headers", {}) | {header: value}
            response = await replace(prepared, options=prepared.options | {"headers": headers}).send(sandbox)
            assert response.status < 500, response.text


@pytest.mark.parametrize("path", ["/bluesky", "/bluesky/", "/telegram/bot/", "/telegram/bot%FF/getMe", "/x/%00", "//"])
async def test_unknown_paths_are_refused(sandbox: SandboxClient, path: str) -> None:
    assert 400 <= (await sandbox.get(path)).status < 600
    assert (await sandbox.get("/_sandbox/published")).status == 200
