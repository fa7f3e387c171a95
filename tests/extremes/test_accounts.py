"""Whatever account the API accepts can be listed, checked and posted to, and delays no post of others."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.engine.conftest import database_url
from tests.extremes.in_process import Fields, quote_name
from tests.extremes.neighbours import Neighbourhood, list_post_ids, open_and_work
from tests.extremes.values import (
    DEEP,
    LABELS,
    NUMBERS,
    REFUSED_LABELS,
    TEXTS,
    extreme_fields,
    few,
    list_single_extremes,
)

__all__ = ["database_url"]

SERVER = "https://server-of-the-test"  # stands for the server of the neighbours, whose port is not known yet
HANDLES = [*LABELS, *REFUSED_LABELS, "x" * 300, "x" * 301, "a/b", "..", "?a=b#c", "a:b", "%2e%2e", "\u202e", "-1"]
PATHS = ["", "/", "/" + "a" * 400, "/" + "a" * 500, "/a/../b", "/.a", "/%41", "?x=1", "#x", "/a//b", "\n", "\x00", "@x"]
HOSTS = [
    "https://no-such-host.invalid", "http://no-such-host.invalid", "https://" + "a" * 64 + ".invalid", "https://-",
    "https://" + "a." * 200 + "invalid", "https://_.invalid:65535", "https://no-such-host.invalid:0", "https://[::1]",
    "https://127.0.0.1", "sandbox:/mastodon", "sandbox:/bluesky", "ftp://no-such-host.invalid", "", "x" * 501,
]  # fmt: skip
CREDENTIALS = [
    None, {}, [], DEEP, {"token": 7}, {"access_token": ""}, {"access_token": " "}, {"access_token": "x" * 10_000},
    {"access_token": "x" * 10_001}, {str(n): "x" for n in range(21)}, {"access_token": "t", "": ""},
    {"access_token": "t", "refresh_token": "\n"}, {"access_token": "t", "x" * 10_000: "\x00"},
    *({"access_token": text} for text in TEXTS),
    *({"access_token": f"a{control}b"} for control in ("\r\nX: y", "\x00", "\x7f", "\u0100", "\ud800", "\t", "\x85")),
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "handle": HANDLES,
    "network": ["bluesky", "telegram", "nostr", "Mastodon", "", "\x00", "x" * 501, 7],
    "credentials": CREDENTIALS,
    "base_url": [None, *HOSTS, *(SERVER + path for path in PATHS), 7],
    "brand": [None, *LABELS, *REFUSED_LABELS],
    "remote_id": [None, *LABELS, *REFUSED_LABELS, *NUMBERS],
    "reason": [*TEXTS, "x" * 2000],
}
ACCOUNT = {"network": "mastodon", "credentials": {"access_token": "t"}, "base_url": SERVER, "brand": "mallory"}
REQUIRED = ("handle", "credentials", "base_url", "network")
OTHERS = [Fields(network=name, credentials={"password": text, "token": text, "chat": text, "chat_id": text})
          for name in ("bluesky", "telegram") for text in TEXTS if isinstance(text, str) and text]  # fmt: skip


def count_handles(bodies: list[Fields]) -> list[Fields]:
    """Give each account a handle of its own, so that one does not become another."""
    return [Fields(body if "handle" in body else {**body, "handle": f"m{n}"}) for n, body in enumerate(bodies)]


@few
@example(accounts=[*list_single_extremes(ACCOUNT, VALUES), *(Fields({**ACCOUNT, **other}) for other in OTHERS)])
@given(accounts=st.lists(extreme_fields(ACCOUNT, VALUES), min_size=20))
def test_accepted_accounts_stop_nobody(database_url: str, tmp_path: Path, accounts: list[Fields]) -> None:
    asyncio.run(post_beside_others(database_url, tmp_path, count_handles(accounts)))


async def post_beside_others(url: str, folder: Path, accounts: list[Fields]) -> None:
    async with open_and_work(url, folder) as hood:
        bodies = [use_server(hood, body) for body in accounts]
        created = await hood.api.create("/v1/accounts", bodies, REQUIRED)
        ids = [account["id"] for account in created]
        posts = list_post_ids(await hood.api.create("/v1/posts", [*map(make_post, ids)], ("accounts",)))
        posts += list_post_ids(await hood.api.create("/v1/posts", [make_post(*ids[:100])]))
        await hood.check_neighbours()
        listed = {account["id"] for account in (await hood.api.get("/v1/accounts"))["data"]}
        assert {*ids} <= listed
        for account_id, body in islice(zip(ids, bodies * 2, strict=False), 50):
            await use_everywhere(hood, account_id, body)
        await hood.wait_for_all(posts)
        await hood.read_everything(posts)
        await hood.settle_all(posts)
        await hood.check_neighbours()


def use_server(hood: Neighbourhood, body: Fields) -> Fields:
    """Put the URL of the server that runs in the place of the one that stands for it."""
    base_url = body.get("base_url")
    if not isinstance(base_url, str):
        return body
    return Fields({**body, "base_url": base_url.replace(SERVER, hood.server.url)})


def make_post(*accounts: str) -> Fields:
    return Fields(text="hello", accounts=[*accounts], allow_duplicate=True)


async def use_everywhere(hood: Neighbourhood, account_id: str, body: Fields) -> None:
    """Send each request that names an account. Only an account whose id cannot be in a path is not found."""
    path, ask = f"/v1/accounts/{quote_name(account_id)}", hood.api.ask
    status, account = await ask("GET", path)
    assert (status, account.get("id")) == (200, account_id), account
    reconnect = {name: value for name, value in body.items() if name not in ("handle", "network")}
    for action in ("check", "pause", "resume"):
        await ask("POST", f"{path}/{action}")
    await ask("POST", f"{path}/reconnect", reconnect)
    for query in ("/v1/posts", "/v1/jobs", "/v1/dead-letters", "/v1/uncertain", "/v1/quotas"):
        await ask("GET", query, account=account_id)
    await ask("POST", "/v1/jobs/test", {"channel": "mastodon", "account": account_id, "run_at": "2031-01-01T00:00:00Z"})
    for action in ("pause", "resume", "end-cooldown"):
        await ask("POST", f"/v1/gates/account/{action}", {"name": account_id})
