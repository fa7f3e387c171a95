"""Lists as long as they are asked for, in the pages that the API gives them in."""

from collections.abc import Callable
from typing import Any

from postino.cli import output

A_PAGE = 200


def fetch_items(
    page: Callable[..., Any], limit: int, before: str | None, **filters: Any
) -> tuple[list[Any], str | None]:
    """At most so many, and from where on there are more."""
    found: list[Any] = []
    said = {name: value for name, value in filters.items() if value is not None}
    while True:
        place = {} if before is None else {"cursor": before}
        told = page(limit=min(limit - len(found), A_PAGE), **place, **said)
        found += told["data"]
        before = told["next_cursor"]
        if before is None or len(found) >= limit:
            return found, before


def print_next_page_hint(cursor: str | None) -> None:
    if cursor is not None:
        output.print_hint(f"There are more: --before {cursor}")
