"""The sandbox's clock of calls: who called when, and what it says about gates that were to be kept."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from tests.crash.publishing.oracle import Oracle

MOST_ROWS = 10_000
VISIBLE = frozenset({"putRecord", "statuses", "sendMessage"})


@dataclass(frozen=True, slots=True)
class Called:
    """One call, as the network saw it."""

    seq: int
    network: str
    account: str | None
    endpoint: str
    began_at: datetime
    ended_at: datetime | None
    status: int | None
    retry_after_at: datetime | None


def calls(oracle: Oracle, network: str | None = None, account: str | None = None) -> list[Called]:
    """In the order they were taken up."""
    asked: dict[str, object] = {"limit": MOST_ROWS, "after": 0}
    asked |= {name: value for name, value in (("network", network), ("account", account)) if value is not None}
    found: list[Called] = []
    while (page := oracle.ask(f"calls/log?{urlencode(asked)}"))["data"]:
        found += [called(row) for row in page["data"]]
        asked["after"] = page["next_after"]
    return found


def called(row: dict[str, object]) -> Called:
    told = {name: row[name] for name in Called.__slots__}
    instants = {name: instant(told[name]) for name in ("began_at", "ended_at", "retry_after_at")}
    return Called(**(told | instants))  # type: ignore[arg-type]


def instant(told: object) -> datetime | None:
    return None if told is None else datetime.fromisoformat(str(told))


def peaks(oracle: Oracle) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """How many calls were under way at most, of each known account and of each network, as the sandbox counted."""
    told = oracle.ask("calls")
    accounts = {(it["network"], it["account"]): it["most_in_flight"] for it in told["data"] if it["account"]}
    return accounts, {it["network"]: it["most_in_flight"] for it in told["networks"]}


def most_at_once(some: Sequence[Called]) -> int:
    """Of calls that were all waited for."""
    moments = [(it.began_at, 1) for it in some] + [(it.ended_at, -1) for it in some if it.ended_at is not None]
    under_way = most = 0
    for _, change in sorted(moments):
        under_way += change
        most = max(most, under_way)
    return most


def too_soon(some: Iterable[Called]) -> Iterator[str]:
    """Calls of an account that was told to come back later."""
    told: dict[tuple[str, str], list[Called]] = defaultdict(list)
    for it in sorted(some, key=lambda it: it.began_at):
        if it.account is None:
            continue
        for limit in told[it.network, it.account]:
            assert limit.ended_at is not None
            assert limit.retry_after_at is not None
            if limit.ended_at < it.began_at < limit.retry_after_at:
                yield f"{it} began although {limit} said when to come back"
        if it.status == 429 and it.ended_at is not None and it.retry_after_at is not None:
            told[it.network, it.account].append(it)
