"""Drafts: changed and removed only in the version that was read, removed when posts are made of them."""

from typing import NoReturn
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.stores.operations.pagination import LAST_ID, MAX_PAGE_BYTES
from postino.stores.operations.stored_responses import find_response, store_response
from postino.stores.statement import Operation, Row, ask
from postino.values.post import Draft, ResponseRecorder, describe_missing_draft


def add_draft(draft: Draft, *, once: ResponseRecorder | None = None) -> Operation[Draft | None]:
    """Insert a draft; return None if the request already has a stored response."""
    if once is not None and (yield from find_response(once.request, keep=True)) is not None:
        return None
    rows = yield ask("insert_draft", id=draft.id, brand=draft.brand, author=draft.author, body=draft.body)
    added = to_draft(rows[0])
    if once is not None:
        yield from store_response(once, added)
    return added


def get_draft(draft_id: UUID) -> Operation[Draft]:
    """Return a draft. Raises NotFound."""
    rows = yield ask("get_draft", id=draft_id)
    if not rows:
        raise NotFound(describe_missing_draft(draft_id))
    return to_draft(rows[0])


def list_drafts(brands: frozenset[str] | None, before: UUID | None, limit: int) -> Operation[list[Draft]]:
    """Return drafts of these brands, newest first; none after those that exceed the size of a page."""
    drafts: list[Draft] = []
    for brand in [None] if brands is None else brands:
        bounds = {"before": before or LAST_ID, "limit": limit, "max_bytes": MAX_PAGE_BYTES}
        rows = yield ask("list_drafts", brand=brand, **bounds)
        drafts.extend(to_draft(row) for row in rows)
    return sorted(drafts, key=lambda draft: draft.id, reverse=True)[:limit]


def change_draft(draft: Draft) -> Operation[Draft]:
    """Change a draft. Raises Conflict if it was changed since it was read."""
    values = {name: getattr(draft, name) for name in ("id", "brand", "body", "version")}
    rows = yield ask("update_draft", **values)
    if not rows:
        yield from refuse_change(draft)
    return to_draft(rows[0])


def remove_draft(draft: Draft) -> Operation[Draft]:
    """Delete a draft. Raises Conflict if it was changed since it was read."""
    rows = yield ask("delete_draft", id=draft.id, version=draft.version)
    if not rows:
        yield from refuse_change(draft)
    return to_draft(rows[0])


def refuse_change(draft: Draft) -> Operation[NoReturn]:
    """Raise NotFound or Conflict, whichever applies."""
    yield from get_draft(draft.id)
    raise Conflict(f"Draft {draft.id} was changed after you read it. Nothing was changed. Read it again.")


def measure_draft(draft: Draft) -> int:
    """Return how much of a page a draft takes."""
    return len(draft.body)


def to_draft(row: Row) -> Draft:
    """Return the draft in a row."""
    return Draft(**{name: row[name] for name in Draft.__slots__})
