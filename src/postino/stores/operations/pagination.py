"""Bounds for lists: how many rows fit on a page, the first and last id of a scan, and how far to scan next."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")

MAX_PAGE_BYTES = 2_000_000  # of payloads and results: to read, render and compress more would hold up other requests
FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)


def next_scan_size(scanned: int, fitting: int, missing: int, left: int) -> int:
    """Return how many rows to scan next: twice what the missing matches should take, and never more than `left`."""
    return min(left, max(2 * scanned, 2 * missing * scanned // fitting)) if fitting else left


def cut_page(rows: Sequence[T], limit: int, measure: Callable[[T], int]) -> tuple[Sequence[T], bool]:
    """Return the rows that fit on a page, at least one, and whether others may follow.

    The rows come from a query for one more than `limit` that stops once MAX_PAGE_BYTES are exceeded.
    """
    sizes = [measure(row) for row in rows]
    count = min(limit, count_fitting(sizes))
    return rows[:count], count < len(rows) or sum(sizes) > MAX_PAGE_BYTES


def count_fitting(sizes: Iterable[int]) -> int:
    """Return how many rows of these sizes fit on a page: at least one, if there is one."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > MAX_PAGE_BYTES:
            break
        count += 1
    return count
