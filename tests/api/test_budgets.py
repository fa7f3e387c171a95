"""Budgets of requests: one for each valid key, and one for all other requests of an address."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from postino.api import rate_limits
from postino.api.rate_limits import RateLimits
from tests.api.asgi import AsgiClient, run_api
from tests.api.browser import PASSWORD

BURST = 5


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[AsgiClient]:
    async with run_api(tmp_path, POSTINO_API_RATE="0.001", POSTINO_API_BURST=str(BURST)) as api:
        yield api


WRONG: list[Callable[[int], dict[str, str]]] = [
    lambda number: {"authorization": ""},
    lambda number: {"authorization": f"Bearer postino_{number:043}"},
    lambda number: {"authorization": f"Bearer wrong {number}"},
    lambda number: {"authorization": f"Basic {number}"},
    lambda number: {"authorization": "", "cookie": f"__Host-postino={number:032x}.x"},
]


@pytest.mark.parametrize("headers", WRONG)
async def test_wrong_credentials_share_the_budget_of_their_address(
    api: AsgiClient, headers: Callable[[int], dict[str, str]]
) -> None:
    guess = AsgiClient(api.app, api.key, "203.0.113.7")
    replies = [await guess.ask("GET", "/v1/jobs", None, **headers(number)) for number in range(BURST + 3)]
    assert [reply.status for reply in replies] == [401] * BURST + [429] * 3
    assert int(replies[-1].headers["retry-after"]) >= 1
    assert (await guess.ask("GET", "/sign-in?token=x", authorization="")).status == 429
    assert (await AsgiClient(api.app, "wrong", "203.0.113.8").ask("GET", "/v1/jobs")).status == 401


async def test_all_kinds_of_guesses_count_together(api: AsgiClient) -> None:
    guess = AsgiClient(api.app, api.key, "203.0.113.7")
    replies = [await guess.ask("GET", "/v1/jobs", None, **headers(1)) for headers in (*WRONG, *WRONG)]
    assert [reply.status for reply in replies].count(429) == len(replies) - BURST


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
    ],
)
async def test_ipv6_addresses_of_one_network_share_a_budget(
    api: AsgiClient, first: str, second: str, shared: bool
) -> None:
    for _ in range(BURST):
        await AsgiClient(api.app, "wrong", first).ask("GET", "/v1/jobs")
    assert (await AsgiClient(api.app, "wrong", second).ask("GET", "/v1/jobs")).status == (429 if shared else 401)


async def test_valid_key_has_its_own_budget_despite_guesses_beside_it(api: AsgiClient) -> None:
    assert (await api.ask("GET", "/v1/jobs")).headers["ratelimit-remaining"] == str(BURST - 1)
    for _ in range(2 * BURST):
        await AsgiClient(api.app, "wrong").ask("GET", "/v1/jobs")
    assert (await AsgiClient(api.app, "wrong").ask("GET", "/v1/jobs")).status == 429
    assert (await api.ask("GET", "/v1/jobs")).status == 200
    assert (await api.ask("GET", "/health/live")).status == 200


async def test_valid_key_gives_its_first_request_back_to_the_address(api: AsgiClient) -> None:
    for number in range(3):
        made = await api.ask("POST", "/v1/api-keys", json.dumps({"name": f"k{number}", "role": "viewer"}).encode())
        key = made.json["key"]
        assert (await AsgiClient(api.app, key).ask("GET", "/v1/jobs")).status == 200
    replies = [await AsgiClient(api.app, "wrong").ask("GET", "/v1/jobs") for _ in range(BURST + 1)]
    assert [reply.status for reply in replies] == [401] * BURST + [429]


async def test_revoked_key_is_an_unknown_one(api: AsgiClient) -> None:
    made = (await api.ask("POST", "/v1/api-keys", json.dumps({"name": "k", "role": "viewer"}).encode())).json
    old = AsgiClient(api.app, made["key"], "203.0.113.7")
    assert (await old.ask("GET", "/v1/jobs")).status == 200
    assert (await api.ask("DELETE", f"/v1/api-keys/{made['id']}")).status == 200
    replies = [await old.ask("GET", "/v1/jobs") for _ in range(BURST + 3)]
    assert [reply.status for reply in replies] == [401] * (BURST + 1) + [429] * 2  # the first with its own budget


async def test_sessions_of_a_user_share_a_budget(api: AsgiClient) -> None:
    user = {"name": "ada", "role": "viewer", "password": PASSWORD}
    assert (await api.ask("POST", "/v1/users", json.dumps(user).encode())).status == 201
    login = json.dumps({"name": "ada", "password": PASSWORD}).encode()
    remaining = []
    for _ in range(3):
        replied = await api.ask("POST", "/v1/login", login, authorization="")
        cookie = replied.headers["set-cookie"].partition(";")[0]
        me = await api.ask("GET", "/v1/me", authorization="", cookie=cookie)
        remaining.append((me.status, me.headers["ratelimit-remaining"]))
    assert remaining == [(200, str(BURST - 1)), (200, str(BURST - 2)), (200, str(BURST - 3))]


async def test_memory_of_budgets_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_CALLERS", 10)

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    limits = RateLimits(refuse, rate=1, burst=1)
    for number in range(100):
        await AsgiClient(limits, f"wrong {number}", f"203.0.113.{number}").ask("GET", "/v1/jobs")
    assert (len(limits.addresses), len(limits.credentials), len(limits.payers)) == (10, 0, 0)
