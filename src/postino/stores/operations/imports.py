"""Files of posts: rows are saved in batches, each in one transaction with how far the file has come."""

from collections.abc import Sequence
from uuid import UUID

from postino.errors import NotFound
from postino.stores.operations.posts import insert_posts
from postino.stores.statement import Operation, Row, ask
from postino.values.imports import Import, NewRow, no_import
from postino.values.post import NewPosts

KEPT_DAYS = 7


def save_import(new: Import) -> Operation[Import]:
    yield ask("prune_imports", days=KEPT_DAYS)
    names = ("id", "caller", "author", "token", "file", "timezone", "rows", "faults")
    found = yield ask("upsert_import", **{name: getattr(new, name) for name in names})
    if not found:
        found = yield ask("find_import", caller=new.caller, token=new.token)
    return to_import(found[0])


def get_import(import_id: UUID) -> Operation[Import]:
    found = yield ask("get_import", id=import_id)
    if not found:
        raise NotFound(no_import(import_id))
    return to_import(found[0])


def find_import_by_token(caller: str, token: str) -> Operation[Import | None]:
    found = yield ask("find_import", caller=caller, token=token)
    return to_import(found[0]) if found else None


def save_import_rows(known: Import, upto: int, faults: str, rows: Sequence[NewRow]) -> Operation[bool]:
    """The rows from where it stands up to here; False if somebody else has done them."""
    taken = yield ask("advance_import", id=known.id, looked=known.looked, upto=upto, faults=faults)
    if not taken:
        return False
    wanted = [NewPosts(content=row.content, posts=row.posts, jobs=row.jobs) for row in rows]
    made = [one for those in (yield from insert_posts(wanted, False)) for one in those]
    created = sum(one.created for one in made)
    yield ask("add_import_counts", id=known.id, created=created, known=len(made) - created)
    return True


def finish_import(import_id: UUID, faults: str) -> Operation[Import]:
    found = yield ask("finish_import", id=import_id, faults=faults)
    return to_import(found[0])


def to_import(row: Row) -> Import:
    return Import(**{name: row[name] for name in Import.__slots__})
