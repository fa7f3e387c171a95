"""Imports: CSV files of posts that are checked first, then saved row by row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.values.post import NewContent, NewPost


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A CSV file. `processed_rows` were saved or refused, or existed; `created` and `existing` count posts."""

    id: UUID
    caller: str  # whose key it came with
    author: str
    token: str  # identifies the content of the file
    file: bytes = field(repr=False)
    timezone: str | None
    rows: int
    problems: str  # as JSON
    state: str = "checked"
    processed_rows: int = 0
    created: int = 0
    existing: int = 0
    created_at: datetime | None = None  # None: not written yet
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """The content, posts and jobs that one row makes."""

    content: NewContent
    posts: Sequence[NewPost]
    jobs: Sequence[Any]


def describe_missing_import(import_id: UUID) -> str:
    return f"Import {import_id} does not exist. A checked file that is not saved is kept for seven days."
