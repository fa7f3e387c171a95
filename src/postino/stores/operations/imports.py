"""Imports: rows of a file are saved in batches, each in one transaction with the file's progress."""

from collections.abc import Sequence
from uuid import UUID

from postino.errors import NotFound
from postino.stores.operations.posts import insert_posts
from postino.stores.statement import Operation, Row, ask
from postino.values.imports import Import, ImportedRow, describe_missing_import
from postino.values.post import NewPosts

KEPT_DAYS = 7
MAX_CHECKED = 20  # files of one caller that are not saved yet


def save_import(new: Import) -> Operation[Import]:
    """Insert an import, or check the same file of the same caller again, unless its rows are just being saved."""
    yield ask("prune_imports", days=KEPT_DAYS)
    yield ask("prune_imports_by_caller", caller=new.caller, token=new.token, kept=MAX_CHECKED - 1)
    names = ("id", "caller", "author", "token", "file", "timezone", "rows", "problems")
    rows = yield ask("upsert_import", **{name: getattr(new, name) for name in names})
    if not rows:
        rows = yield ask("find_import", caller=new.caller, token=new.token)
    return to_import(rows[0])


def get_import(import_id: UUID) -> Operation[Import]:
    """Return an import without its file. Raises NotFound."""
    rows = yield ask("get_import", id=import_id)
    if not rows:
        raise NotFound(describe_missing_import(import_id))
    return Import(file=b"", **rows[0])


def find_import_by_token(caller: str, token: str) -> Operation[Import | None]:
    """Return a caller's import of this file, if any."""
    rows = yield ask("find_import", caller=caller, token=token)
    return to_import(rows[0]) if rows else None


def save_import_rows(stored: Import, upto: int, problems: str, rows: Sequence[ImportedRow]) -> Operation[bool]:
    """Save the rows up to a line, all or none; return False if another process has saved them."""
    advanced = yield ask(
        "advance_import", id=stored.id, processed_rows=stored.processed_rows, upto=upto, problems=problems
    )
    if not advanced:
        return False
    requests = [NewPosts(content=row.content, posts=row.posts, jobs=row.jobs) for row in rows]
    posts = [post for batch in (yield from insert_posts(requests, False)) for post in batch]
    created = sum(post.created for post in posts)
    yield ask("add_import_counts", id=stored.id, created=created, existing=len(posts) - created)
    return True


def finish_import(import_id: UUID, problems: str) -> Operation[Import]:
    """Record that all rows are saved."""
    rows = yield ask("finish_import", id=import_id, problems=problems)
    return to_import(rows[0])


def to_import(row: Row) -> Import:
    """Return the import in a row."""
    return Import(**{name: row[name] for name in Import.__slots__})
