"""Finding posts: by the index that fits best, and never through more posts than one answer is worth."""

from uuid import UUID

FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)


def next_scan_size(scanned: int, fitting: int, missing: int, left: int) -> int:
    """How far to go on each way: for what is missing, by how rare it was so far, and then some; else all there is."""
    return min(left, max(2 * scanned, 2 * missing * scanned // fitting)) if fitting else left
