"""Measure lists and the calendar over HTTP with 1,000,000 posts."""

import asyncio
from calendar import monthrange
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from benchmarks.archive import Account, fill
from benchmarks.clients.words import RARE
from benchmarks.install import Installed
from benchmarks.service import STORES, Service, run_client
from benchmarks.trial import Failed, Store
from benchmarks.workload import Figure, Stage, Target, Workload

POSTS, ACCOUNTS, BRANDS = 1_000_000, 500, 20
TIMES = 200
DEEP = 40  # pages
QUESTIONS = {
    "list": "the newest posts",
    "status": "by status",
    "network": "by network",
    "account": "by account",
    "brand": "by brand",
    "time": "by from and to",
    "account-time": "of an account, by from and to",
    "text": "with a frequent word",
    "rare": "with a rare word, one response",
    "none": "with a word in no post, one response",
    "deep": f"page {DEEP}",
    "own": "the newest of a key's own brand",
    "week": "calendar of a week",
    "month": "calendar of a month",
    "busiest": "calendar of the busiest month",
    "zone": "calendar of a month in another zone",
    "own-month": "calendar of a month for a key's own brand",
}


def lists(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    with Service(stage.server, store) as service:
        accounts = open_accounts(service, max(3 * BRANDS, stage.size(ACCOUNTS)))
        asyncio.run(fill(service.database, stage.size(POSTS), accounts))
        service.start()
        idle = service.wait_until_idle("server")
        asked = questions(service, accounts)
        times = max(5, int(TIMES * min(1, stage.scale)))
        found = run_client("lists", url=service.url, questions=asked, times=times)
        empty = [name for name, figures in found.items() if not figures["rows"] and name != "none"]
        if empty and stage.scale >= 1:
            raise Failed(f"these requests returned nothing: {', '.join(empty)}")
        measured = {f"{name}-{figure}": figures[figure] for name, figures in found.items() for figure in ("p50", "p99")}
        first = max(figures["first"] for figures in found.values())
        return measured | {"first": first, "idle": idle, "after": service.wait_until_idle("server")}


def open_accounts(service: Service, count: int) -> list[Account]:
    """Create accounts for each brand on all networks."""

    def make_account(name: str) -> Account:
        return Account(name, name.partition(":")[0], f"brand {int(name.rpartition('account')[2]) % BRANDS}")

    return [*map(make_account, service.open_accounts(-(-count // 3), BRANDS)[:count])]


def questions(service: Service, accounts: list[Account]) -> dict[str, list[dict[str, str]]]:
    """Return the requests, several variants of each."""
    own = service.ask("POST", "/v1/api-keys", {"name": "own", "role": "viewer", "brands": ["brand 3"]})["key"]
    now = datetime.now(UTC)

    def list_query(key: str = service.key, **filters: str) -> dict[str, str]:
        return {"path": f"/v1/posts?{urlencode({'limit': '50'} | filters)}", "key": key}

    def days(first: datetime, last: datetime, key: str = service.key, **more: str) -> dict[str, str]:
        asked = {"from": first.date().isoformat(), "to": last.date().isoformat()} | more
        return {"path": f"/v1/calendar?{urlencode(asked)}", "key": key}

    def month(back: int, key: str = service.key, **more: str) -> dict[str, str]:
        middle = (now - timedelta(days=back)).replace(day=1)
        return days(middle, middle.replace(day=monthrange(middle.year, middle.month)[1]), key, **more)

    def moment(back: float) -> str:
        return (now - timedelta(days=back)).isoformat()

    spread = range(20)
    account_ids = [accounts[number * len(accounts) // len(spread)].id for number in spread]
    return {
        "list": [list_query()],
        "status": [list_query(status=status) for status in ("scheduled", "published", "failed", "cancelled")],
        "network": [list_query(network=network) for network in ("bluesky", "mastodon", "telegram")],
        "account": [list_query(account=name) for name in account_ids],
        "brand": [list_query(brand=f"brand {number}") for number in spread],
        "time": [list_query(**{"from": moment(25 * number + 1), "to": moment(25 * number)}) for number in spread],
        "account-time": [
            list_query(**{"account": account_ids[number], "from": moment(90 + number), "to": moment(number)})
            for number in spread
        ],
        "text": [list_query(text=word) for word in ("coffee", "spring collection", "quiet")],
        "rare": [list_query(text=RARE)],
        "none": [list_query(text="zwieback")],
        "deep": [list_query(cursor=deep(service, list_query()))],
        "own": [list_query(own)],
        "week": [days(now - timedelta(days=7 * number + 6), now - timedelta(days=7 * number)) for number in spread],
        "month": [month(30 * number) for number in range(2, 18)],
        "busiest": [month(0)],
        "zone": [month(30 * number, timezone="America/New_York") for number in range(2, 18)],
        "own-month": [month(30 * number, own) for number in range(18)],
    }


def deep(service: Service, first: dict[str, str]) -> str:
    """Return the cursor of a page far from the first one."""
    cursor = ""
    for _ in range(DEEP):
        page: dict[str, Any] = service.ask("GET", first["path"] + (f"&cursor={quote(cursor)}" if cursor else ""))
        cursor = page["next_cursor"] or cursor
    return cursor


FIGURES = (
    *(
        figure
        for name, title in QUESTIONS.items()
        for figure in (
            Figure(f"{name}-p99", f"{title}: p99", "ms", targets=(Target(100),)),
            Figure(f"{name}-p50", f"{title}: p50", "ms"),
        )
    ),
    Figure("first", "the slowest first request after the start", "ms"),
    Figure("idle", "resident memory of the server, idle after its start", "MB"),
    Figure("after", "resident memory of the server at the end", "MB"),
)
WORKLOADS = tuple(
    Workload(
        f"lists-large{ending}",
        f"lists and calendar with {POSTS:,} posts of {ACCOUNTS} accounts, {title}",
        ("postino",),
        FIGURES,
        partial(lists, store=store),
        most_rounds=1,
        large=True,
    )
    for store, (ending, title) in STORES.items()
)
