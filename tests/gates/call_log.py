"""The sandbox's log of calls: which account called when, and whether limits were kept."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from tests.crash.publishing.oracle import Oracle

MOST_ROWS = 10_000
VISIBLE = frozenset({"putRecord", "statuses", "sendMessage"})


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call as the network received it."""

    seq: int
    network: str
    account: str | None
    endpoint: str
    began_at: datetime
    ended_at: datetime | None
    status: int | None
    retry_after_at: datetime | None


def read_calls(oracle: Oracle, network: str | None = None, account: str | None = None) -> list[LoggedCall]:
    """Return the calls in the order of their arrival."""
    query: dict[str, object] = {"limit": MOST_ROWS, "after": 0}
    query |= {name: value for name, value in (("network", network), ("account", account)) if value is not None}
    calls: list[LoggedCall] = []
    while (page := oracle.ask(f"calls/log?{urlencode(query)}"))["data"]:
        calls += [parse_call(row) for row in page["data"]]
        query["after"] = page["next_after"]
    return calls


def parse_call(row: dict[str, object]) -> LoggedCall:
    body = {name: row[name] for name in LoggedCall.__slots__}
    instants = {name: instant(body[name]) for name in ("began_at", "ended_at", "retry_after_at")}
    return LoggedCall(**(body | instants))  # type: ignore[arg-type]


def instant(body: object) -> datetime | None:
    return None if body is None else datetime.fromisoformat(str(body))


def read_peaks(oracle: Oracle) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Return the most concurrent calls of each account and of each network, as the sandbox counted them."""
    body = oracle.ask("calls")
    accounts = {(it["network"], it["account"]): it["max_in_flight"] for it in body["data"] if it["account"]}
    return accounts, {it["network"]: it["max_in_flight"] for it in body["networks"]}


def count_most_at_once(some: Sequence[LoggedCall]) -> int:
    """Return how many of these calls were under way at once, at most."""
    moments = [(it.began_at, 1) for it in some] + [(it.ended_at, -1) for it in some if it.ended_at is not None]
    under_way = most = 0
    for _, change in sorted(moments):
        under_way += change
        most = max(most, under_way)
    return most


def find_early_calls(some: Iterable[LoggedCall]) -> Iterator[str]:
    """Yield calls of an account before the time that a rate limit gave it."""
    body: dict[tuple[str, str], list[LoggedCall]] = defaultdict(list)
    for it in sorted(some, key=lambda it: it.began_at):
        if it.account is None:
            continue
        for limit in body[it.network, it.account]:
            assert limit.ended_at is not None
            assert limit.retry_after_at is not None
            if limit.ended_at < it.began_at < limit.retry_after_at:
                yield f"{it} began although {limit} gave a later time"
        if it.status == 429 and it.ended_at is not None and it.retry_after_at is not None:
            body[it.network, it.account].append(it)
