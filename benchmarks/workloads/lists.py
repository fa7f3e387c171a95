"""1,000,000 posts: how long lists and the calendar take over HTTP, whatever is asked for."""

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
    "rare": "with a rare word, as far as one answer goes",
    "none": "with a word that nobody wrote, as far as one answer goes",
    "deep": f"{DEEP} pages on",
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
        empty = [name for name, told in found.items() if not told["rows"] and name != "none"]
        if empty and stage.scale >= 1:
            raise Failed(f"nothing was found: {', '.join(empty)}")
        measured = {f"{name}-{figure}": told[figure] for name, told in found.items() for figure in ("p50", "p99")}
        first = max(told["first"] for told in found.values())
        return measured | {"first": first, "idle": idle, "after": service.wait_until_idle("server")}


def open_accounts(service: Service, count: int) -> list[Account]:
    """Each brand on all networks."""

    def make_account(name: str) -> Account:
        return Account(name, name.partition(":")[0], f"brand {int(name.rpartition('account')[2]) % BRANDS}")

    return [*map(make_account, service.open_accounts(-(-count // 3), BRANDS)[:count])]


def questions(service: Service, accounts: list[Account]) -> dict[str, list[dict[str, str]]]:
    """What is asked, in several forms each."""
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
    some = [accounts[number * len(accounts) // len(spread)].id for number in spread]
    return {
        "list": [list_query()],
        "status": [list_query(status=status) for status in ("scheduled", "published", "failed", "cancelled")],
        "network": [list_query(network=network) for network in ("bluesky", "mastodon", "telegram")],
        "account": [list_query(account=name) for name in some],
        "brand": [list_query(brand=f"brand {number}") for number in spread],
        "time": [list_query(**{"from": moment(25 * number + 1), "to": moment(25 * number)}) for number in spread],
        "account-time": [
            list_query(**{"account": some[number], "from": moment(90 + number), "to": moment(number)})
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
    """The cursor of a page far behind the first."""
    cursor = ""
    for _ in range(DEEP):
        told: dict[str, Any] = service.ask("GET", first["path"] + (f"&cursor={quote(cursor)}" if cursor else ""))
        cursor = told["next_cursor"] or cursor
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
    Figure("first", "the slowest of the first questions after the start", "ms"),
    Figure("idle", "resident memory of the server, idle after its start", "MB"),
    Figure("after", "the same afterwards", "MB"),
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
