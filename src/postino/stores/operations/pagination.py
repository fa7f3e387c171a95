"""Bounds for lists that scan an index: the first and last id, and how far to scan next."""

from uuid import UUID

FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)


def next_scan_size(scanned: int, fitting: int, missing: int, left: int) -> int:
    """Return how many rows to scan next: twice what the missing matches should take, and never more than `left`."""
    return min(left, max(2 * scanned, 2 * missing * scanned // fitting)) if fitting else left
