"""A network may respond with anything: a step ends as refused or as unreadable, and never with another exception."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino.errors import PostinoError
from postino.providers import bluesky, mastodon, telegram
from postino.providers.mastodon_status import Status
from postino.providers.media_download import MediaFile
from postino.values.json_text import MAX_DEPTH, MAX_PARTS, parse_json
from postino.values.provider import Account, Answer, Http, Intent, LostResponse, Media, NotSent, Provider
from tests.providers.samples import make_post

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INTENT = Intent(number=1, intended_at=NOW, send_before_at=NOW + timedelta(seconds=5))
DEEP = b"[" * 100_000
VALUES: list[Any] = [
    None, 7, "x", [], {}, [7], [[]], [{}], {"id": None}, {"id": [[]]}, {"error": [1], "message": {}}, {"ok": True},
    {"result": 7}, {"result": []}, {"result": [7, 8]}, {"ok": True, "result": {"message_id": "x"}},
    {"ok": True, "result": [{"message_id": 1, "chat": {}}, 7]}, {"parameters": {"retry_after": -1}},
    {"parameters": {"retry_after": 10**300}}, {"did": 7, "accessJwt": "x"}, {"did": "x", "accessJwt": "a.b.c"},
    {"uri": "x", "cid": "y"}, {"uri": "at://a/b/c/d", "cid": "y"}, {"blob": 7}, {"blob": {}}, {"text": [], "id": 1},
    [{"created_at": "2026-01-01"}], [{"created_at": "2026-01-02T00:00:00"}], [{"created_at": "2026-01-02T00:00:00Z"}],
    [{"created_at": "2026-01-02T00:00:00Z", "id": 1, "media_attachments": 7}],
    [{"created_at": "2026-01-02T00:00:00Z", "id": {}, "content": "<" * 100_000}],
]  # fmt: skip
BODIES = [
    b"", b"\xff", b"{", b"<html>", DEEP, b'{"a":' * 100_000, b"[" * 500 + b"]" * 500, b"NaN", b"1e999", b"9" * 5000,
    b'{"error":' + b"[" * 900 + b"]" * 900 + b"}", b'{"blob":' + b"[" * 900 + b"]" * 900 + b"}",
    *(json.dumps(value).encode() for value in VALUES),
]  # fmt: skip
HEADERS: list[Mapping[str, str]] = [
    {}, {"retry-after": "9" * 5000, "x-ratelimit-reset": "9" * 400, "ratelimit-reset": "-1", "date": "x" * 5000}
]  # fmt: skip


class HostileHttp:
    """Answers every request with the same response."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def request(self, method: str, url: str, **content: Any) -> Answer:
        return self.answer

    async def fetch(self, url: str, *, most: int) -> Answer:
        return self.answer


async def take_none(ids: list[str]) -> set[str]:
    return set()


def make_account(network: str) -> Account:
    credentials = {"password": "p", "access_token": "t", "refresh_token": "r", "bot_token": "1:b", "chat_id": "-1001"}
    return Account(
        id=f"{network}:a", network=network, handle="a.test", base_url="https://a.test", credentials=credentials
    )


def list_steps(module: Any, provider: Any, http: Http) -> list[Callable[[], Awaitable[Any]]]:
    """Return every call of a network's file that reads a response."""
    account = make_account(provider.name)
    post, media = make_post(account), Media(url="https://a.test/a.png")
    record = {"$type": "x", "text": "x", "createdAt": "2026-01-01T00:00:00Z"}
    status = Status(account, "1", "key", "x")
    steps: list[Callable[[], Awaitable[Any]]] = [lambda: provider.refresh(account, http)]
    if module is mastodon:
        steps += [
            lambda: provider.verify(http, account), lambda: provider.upload(http, account, media),
            lambda: provider.is_ready(http, account, "1"), lambda: provider.post(http, status),
            lambda: provider.find(take_none, http, INTENT, status),
        ]  # fmt: skip
    elif module is bluesky:
        steps += [
            lambda: provider.upload(http, account, media), lambda: provider.put(http, None, account, "k", record, ()),
            lambda: provider.compose(http, account, "@a.test #b", (), ()),
            lambda: provider.find(http, INTENT, account, "k", record, ()),
            lambda: provider.get_reference(http, account, "at://a/b/c"),
        ]  # fmt: skip
    else:
        steps += [
            lambda: provider.load_files(http, post), lambda: provider.send(http, [], post),
            lambda: provider.send(http, [MediaFile(b"x", "image/png")], make_post(account, media=(media,))),
        ]  # fmt: skip
    return steps


@pytest.mark.parametrize("module", [bluesky, mastodon, telegram], ids=lambda module: module.__name__.rpartition(".")[2])
@pytest.mark.parametrize("status", [200, 206, 302, 400, 404, 429, 500])
async def test_hostile_response_is_refused_or_unreadable(module: Any, status: int) -> None:
    for body in BODIES:
        for headers in HEADERS:
            http = HostileHttp(Answer(status, headers, body))
            provider: Provider = type(module.NETWORK)()
            for number, step in enumerate(list_steps(module, provider, http)):
                try:
                    result = await step()
                except (NotSent, LostResponse):
                    continue
                except PostinoError as error:
                    pytest.fail(f"step {number}, {status} {body[:80]!r}: {error!r}")
                json.dumps(getattr(result, "data", None) if hasattr(result, "data") else str(result))


@pytest.mark.parametrize(
    "body",
    [
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[]",
        b"[" + b'["[[", "]\\"["],' * MAX_DEPTH + b"1]",
        b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH,
        b'[{"a": 1.5e300}]',
    ],
)
def test_readable_json_is_parsed(body: bytes) -> None:
    assert parse_json(body) == json.loads(body)


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    body = rb'{"id\u0000": ["a\u0000b", {"c": "\ud800x\udfff"}], "d": "\ud83d\ude00 \\u0000", "e": 7}'
    assert parse_json(body) == {"id\ufffd": ["a\ufffdb", {"c": "\ufffdx\ufffd"}], "d": "😀 \\u0000", "e": 7}


@pytest.mark.parametrize(
    "body",
    [
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'[{"]": "[", "a": ' * 51 + b"1" + b"}]" * 51,
        b"[" + b"[]," * MAX_PARTS + b"[]]",
        b"[" * 9**6,
        b"NaN",
        b"[Infinity]",
        b"1e999",
        b"{",
        b"\xff",
        b'"\xed\xa0\x80"',
    ],
)
def test_unreadable_json_raises_one_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):  # not RecursionError, and nothing else
        parse_json(body)
