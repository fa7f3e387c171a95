"""The whole in figures: each read is bounded, whatever there is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.error_groups import Trouble, together
from postino.rules.quota import Spent
from postino.rules.settlement import Cause
from postino.rules.stats import Ended
from postino.stores.records import BrandCount, Spending
from postino.stores.statement import Operation, Row, ask
from postino.values.event import Cursor
from postino.values.job import State


def clock() -> Operation[datetime]:
    now: datetime = (yield ask("clock"))[0]["now_at"]
    return now


def ended(
    since_at: datetime, most: int, *, network: str | None = None, brands: Sequence[str] | None = None
) -> Operation[list[Ended]]:
    found = yield ask("ended", since_at=since_at, most=most, network=network, brands=listed(brands))
    return [Ended(row["channel"], State(row["state"]), row["late_by"]) for row in found]


def brands() -> Operation[list[str]]:
    return [row["brand"] for row in (yield ask("brands"))]


def brand_counts(names: Sequence[str], most: int) -> Operation[list[BrandCount]]:
    found = yield ask("brand_counts", brands=list(names), most=most)
    return [BrandCount(row["brand"], State(row["state"]), row["posts"]) for row in found if row["posts"]]


def troubles(most: int, brands: Sequence[str] | None = None) -> Operation[list[Trouble]]:
    return together([trouble(row) for row in (yield ask("troubles", most=most, brands=listed(brands)))])


def trouble(row: Row) -> Trouble:
    names = ("channel", "type", "error", "letters", "first_at", "last_at")
    told: dict[str, Any] = {name: row[name] for name in names}
    return Trouble(cause=Cause(row["cause"]), example=UUID(str(row["example"])), **told)


def spent(wanted: Sequence[Spending]) -> Operation[list[list[Spent]]]:
    all_spent = []
    for one in wanted:
        asked = {"quota": one.quota, "account": one.account, "since_at": one.since_at}
        rows = yield ask("spent", spent_on=one.channel, **asked)
        all_spent.append([Spent(row["at"], row["cost"]) for row in rows])
    return all_spent


def last_event() -> Operation[Cursor]:
    found = yield ask("last_event")
    return Cursor(found[0]["xid"], found[0]["seq"]) if found else Cursor()


def brands_of(job_ids: Sequence[UUID]) -> Operation[Mapping[UUID, str | None]]:
    return {row["id"]: row["brand"] for row in (yield ask("brands_of", ids=list(job_ids)))}


def listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)
