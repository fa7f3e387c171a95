"""Files of posts: rows are saved in batches, each in one transaction with how far the file has come."""

from collections.abc import Sequence
from uuid import UUID

from postino.errors import NotFound
from postino.stores.operations.posts import written
from postino.stores.statement import Operation, Row, ask
from postino.values.imports import Import, NewRow, no_import
from postino.values.post import NewPosts

KEPT_DAYS = 7


def put(new: Import) -> Operation[Import]:
    yield ask("prune_imports", days=KEPT_DAYS)
    names = ("id", "caller", "author", "token", "file", "timezone", "rows", "faults")
    found = yield ask("put_import", **{name: getattr(new, name) for name in names})
    if not found:
        found = yield ask("import_by_token", caller=new.caller, token=new.token)
    return import_of(found[0])


def get(import_id: UUID) -> Operation[Import]:
    found = yield ask("import", id=import_id)
    if not found:
        raise NotFound(no_import(import_id))
    return import_of(found[0])


def by_token(caller: str, token: str) -> Operation[Import | None]:
    found = yield ask("import_by_token", caller=caller, token=token)
    return import_of(found[0]) if found else None


def save(known: Import, upto: int, faults: str, rows: Sequence[NewRow]) -> Operation[bool]:
    """The rows from where it stands up to here; False if somebody else has done them."""
    taken = yield ask("look_at_rows", id=known.id, looked=known.looked, upto=upto, faults=faults)
    if not taken:
        return False
    wanted = [NewPosts(content=row.content, posts=row.posts, jobs=row.jobs) for row in rows]
    made = [one for those in (yield from written(wanted, False)) for one in those]
    created = sum(one.created for one in made)
    yield ask("count_rows", id=known.id, created=created, known=len(made) - created)
    return True


def finish(import_id: UUID, faults: str) -> Operation[Import]:
    found = yield ask("finish_import", id=import_id, faults=faults)
    return import_of(found[0])


def import_of(row: Row) -> Import:
    return Import(**{name: row[name] for name in Import.__slots__})
