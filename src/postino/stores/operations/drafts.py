"""Drafts: read and changed by the version that was read, gone when posts are made of them."""

from typing import NoReturn
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.stores.operations.pagination import LAST_ID
from postino.stores.operations.stored_responses import find_response, store_response
from postino.stores.statement import Operation, Row, ask
from postino.values.post import Draft, Once, no_draft


def add_draft(draft: Draft, *, once: Once | None = None) -> Operation[Draft | None]:
    if once is not None and (yield from find_response(once.asked, keep=True)) is not None:
        return None
    found = yield ask("insert_draft", id=draft.id, brand=draft.brand, author=draft.author, said=draft.said)
    added = to_draft(found[0])
    if once is not None:
        yield from store_response(once, added)
    return added


def get_draft(draft_id: UUID) -> Operation[Draft]:
    found = yield ask("get_draft", id=draft_id)
    if not found:
        raise NotFound(no_draft(draft_id))
    return to_draft(found[0])


def list_drafts(brands: frozenset[str] | None, before: UUID | None, limit: int) -> Operation[list[Draft]]:
    found: list[Draft] = []
    for brand in [None] if brands is None else brands:
        rows = yield ask("list_drafts", brand=brand, before=before or LAST_ID, limit=limit)
        found.extend(to_draft(row) for row in rows)
    return sorted(found, key=lambda draft: draft.id, reverse=True)[:limit]


def change_draft(draft: Draft) -> Operation[Draft]:
    said = {name: getattr(draft, name) for name in ("id", "brand", "said", "version")}
    found = yield ask("update_draft", **said)
    if not found:
        yield from refuse_change(draft)
    return to_draft(found[0])


def remove_draft(draft: Draft) -> Operation[Draft]:
    """Only as it was read: nobody's change goes unseen with it."""
    found = yield ask("delete_draft", id=draft.id, version=draft.version)
    if not found:
        yield from refuse_change(draft)
    return to_draft(found[0])


def refuse_change(draft: Draft) -> Operation[NoReturn]:
    yield from get_draft(draft.id)
    told = "somebody else has changed it since you read it. Nothing was done: read it again."
    raise Conflict(f"Draft {draft.id} is not as you read it: {told}")


def to_draft(row: Row) -> Draft:
    return Draft(**{name: row[name] for name in Draft.__slots__})
