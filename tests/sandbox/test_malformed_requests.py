"""Whatever anybody sends, the sandbox answers as a network would: with a refusal, and goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from postino.sandbox.networks import networks
from tests.sandbox.running import Sandbox
from tests.sandbox.scripts import LINES, Line

NONSENSE: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", " ", "²", "x" * 70_000, "\0", "'; DROP TABLE published; --", "<script>", "٣",
    "9" * 25, "https://", "http://127.0.0.1:1/x", "http://[", "did:plc:x", [], [[]], [None], {}, {"": None},
    {"$type": "blob"},
    {"text": {}, "$type": "app.bsky.feed.post"}, {"images": [1, {"alt": 1}]}, {"uri": 1, "cid": 2},
    {"media_ids": {}}, {"message_id": []}, {"title": 7}, {"privacyStatus": []},
]  # fmt: skip


def garbled(line: Line, takes: list[str], chance: random.Random) -> Iterator[Line]:
    """The same call with one thing wrong."""
    for name in takes:
        value = chance.choice(NONSENSE)
        if "json" in line.options:
            yield replace(line, options=line.options | {"json": line.options["json"] | {name: value}})
        elif line.form is None and line.method == "GET":
            params = line.options.get("params", {}) | {name: str(value)[:2000]}
            yield replace(line, options=line.options | {"params": params})
        elif isinstance(line.options.get("data"), dict):
            yield replace(line, options=line.options | {"data": line.options["data"] | {name: str(value)}})


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("network", "endpoint"), LINES)
async def test_nonsense_is_refused_and_nothing_breaks(shared_sandbox: Sandbox, network: str, endpoint: str) -> None:
    sandbox = shared_sandbox
    [known] = [it for it in networks()[network].endpoints if it.name == endpoint]
    prepared = await LINES[network, endpoint](sandbox)
    chance = random.Random(f"{network} {endpoint}")
    for line in garbled(prepared, [*known.takes] * 4, chance):
        answer = await line.send(sandbox)
        assert answer.status < 500, (line, answer.text)
    assert (await prepared.send(sandbox)).status < 500


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"text": "\\ud800"}', b"[" * 100_000, b"\xff\xfe", b"\0"])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", "multipart/x; boundary=x"])
async def test_bodies_that_cannot_be_read_are_refused(shared_sandbox: Sandbox, body: bytes, kind: str) -> None:
    sandbox, before = shared_sandbox, await shared_sandbox.published()
    for network, endpoint in (("x", "tweets"), ("mastodon", "statuses"), ("telegram", "sendMessage")):
        prepared = await LINES[network, endpoint](sandbox)
        headers = prepared.options.get("headers", {}) | {"Content-Type": kind}
        answer = await sandbox.call("POST", prepared.path, data=body, headers=headers)
        assert 400 <= answer.status < 500, answer.text
    assert await sandbox.published() == before


@pytest.mark.parametrize("header", ["Authorization", "Idempotency-Key", "Content-Range", "X-Upload-Content-Length"])
async def test_headers_that_are_no_text_break_nothing(sandbox: Sandbox, header: str) -> None:
    for network, endpoint in (("mastodon", "statuses"), ("youtube", "upload_start"), ("youtube", "upload_bytes")):
        prepared = await LINES[network, endpoint](sandbox)
        for value in ("Bearer \udcff", "bytes 0-1/" + "9" * 5000, "²"):
            headers = prepared.options.get("headers", {}) | {header: value}
            answer = await replace(prepared, options=prepared.options | {"headers": headers}).send(sandbox)
            assert answer.status < 500, answer.text


@pytest.mark.parametrize("path", ["/bluesky", "/bluesky/", "/telegram/bot/", "/telegram/bot%FF/getMe", "/x/%00", "//"])
async def test_paths_that_lead_nowhere_are_refused(sandbox: Sandbox, path: str) -> None:
    assert 400 <= (await sandbox.get(path)).status < 600
    assert (await sandbox.get("/_sandbox/published")).status == 200
