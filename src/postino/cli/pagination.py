"""Fetch lists of any length, page by page."""

from collections.abc import Callable
from typing import Any

from postino.cli import output

PAGE_SIZE = 200


def fetch_items(
    page: Callable[..., Any], limit: int, before: str | None, **filters: Any
) -> tuple[list[Any], str | None]:
    """Return at most `limit` items, and the cursor of the next page."""
    items: list[Any] = []
    given = {name: value for name, value in filters.items() if value is not None}
    while True:
        place = {} if before is None else {"cursor": before}
        response = page(limit=min(limit - len(items), PAGE_SIZE), **place, **given)
        items += response["data"]
        before = response["next_cursor"]
        if before is None or len(items) >= limit:
            return items, before


def print_next_page_hint(cursor: str | None) -> None:
    if cursor is not None:
        output.print_hint(f"There are more. For the next page: --before {cursor}")
