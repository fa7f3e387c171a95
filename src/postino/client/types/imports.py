"""Imports of CSV files."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.literals import ImportState, Severity
from postino.client.types.schema import Doc, Timestamp, Uuid


class ImportProblemView(TypedDict):
    """A problem with one line of the file."""

    line: Annotated[int, Doc("Number of the line.")]
    column: Annotated[str | None, Doc("Name of the column.")]
    value: Annotated[str | None, Doc("The value at fault.")]
    severity: Annotated[Severity, Doc("An error prevents publishing; a warning does not.")]
    message: Annotated[str, Doc("What is wrong.")]


class ImportView(TypedDict):
    """A CSV file of posts and the progress of its import."""

    id: Annotated[Uuid, Doc("Id of the import.")]
    state: Annotated[
        ImportState,
        Doc("`checked`: nothing is saved. `saving`: Postino saves the posts. `saved`: the import has ended."),
    ]
    token: Annotated[str, Doc("Pass this token to save the posts of the checked file.")]
    timezone: Annotated[str | None, Doc("Time zone of times without an offset.")]
    rows: Annotated[int, Doc("Number of rows in the file.")]
    processed_rows: Annotated[int, Doc("Number of rows that Postino has saved or refused so far.")]
    created: Annotated[int, Doc("Number of posts created.")]
    existing: Annotated[int, Doc("Number of posts that existed already.")]
    posts: Annotated[int, Doc("Number of posts in the file.")]
    invalid_rows: Annotated[int, Doc("Number of rows with errors.")]
    problems: Annotated[list[ImportProblemView], Doc("The first 1,000 problems.")]
    more_problems: Annotated[int, Doc("Number of further problems.")]
    created_at: Annotated[Timestamp, Doc("When the file was checked.")]
    changed_at: Annotated[Timestamp, Doc("When the import last made progress.")]
