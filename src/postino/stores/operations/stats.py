"""Figures about the whole store. Each read is bounded, whatever the store holds."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.error_groups import ErrorGroup, merge_groups
from postino.rules.settlement import DeadLetterCause
from postino.rules.stats import EndedPost
from postino.stores.records import BrandCount
from postino.stores.statement import Operation, Row, ask
from postino.values.job import State


def read_clock() -> Operation[datetime]:
    """Return the database's time, which expiries are compared with."""
    now: datetime = (yield ask("get_time"))[0]["now_at"]
    return now


def list_finished_posts(
    since_at: datetime, most: int, *, network: str | None = None, brands: Sequence[str] | None = None
) -> Operation[list[EndedPost]]:
    """Return the posts that ended since a time, latest first; the filter applies to the latest `most` posts."""
    rows = yield ask("list_finished_posts", since_at=since_at, most=most, network=network, brands=to_list(brands))
    return [EndedPost(row["channel"], State(row["state"]), row["late_by"]) for row in rows]


def list_brands() -> Operation[list[str]]:
    """Return the brands that posts and jobs have, whatever the accounts say."""
    return [row["brand"] for row in (yield ask("list_brands"))]


def count_posts_by_brand(names: Sequence[str], most: int) -> Operation[list[BrandCount]]:
    """Return the number of posts by brand and state, counted up to a bound."""
    rows = yield ask("count_posts_by_brand", brands=list(names), most=most)
    return [BrandCount(row["brand"], State(row["state"]), row["posts"]) for row in rows if row["posts"]]


def list_error_groups(most: int, brands: Sequence[str] | None = None) -> Operation[list[ErrorGroup]]:
    """Return the latest open dead letters, grouped by error."""
    return merge_groups(
        [to_error_group(row) for row in (yield ask("group_dead_letters", most=most, brands=to_list(brands)))]
    )


def to_error_group(row: Row) -> ErrorGroup:
    """Return the error group in a row."""
    names = ("channel", "type", "error", "letters", "first_at", "last_at")
    values: dict[str, Any] = {name: row[name] for name in names}
    return ErrorGroup(cause=DeadLetterCause(row["cause"]), example=UUID(str(row["example"])), **values)


def list_brands_by_job(job_ids: Sequence[UUID]) -> Operation[Mapping[UUID, str | None]]:
    """Return the brand of each job."""
    return {row["id"]: row["brand"] for row in (yield ask("find_brands", ids=list(job_ids)))}


def to_list(names: Sequence[str] | None) -> list[str] | None:
    """Return names as a list; None stays None."""
    return None if names is None else list(names)
