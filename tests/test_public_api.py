"""The public names are a promise: this list changes on purpose or not at all."""

from __future__ import annotations

import postino
from tests.documents import ROOT, codes, table

PUBLIC = [
    "Call",
    "Config",
    "Conflict",
    "Defer",
    "Done",
    "Event",
    "Exponential",
    "Job",
    "JobSpec",
    "NotFound",
    "Outcome",
    "Postino",
    "PostinoError",
    "Queue",
    "Reject",
    "Retry",
    "Schedule",
    "State",
    "Unknown",
    "WrongUse",
]
MOST = 20


def test_public_names_are_these() -> None:
    assert postino.__all__ == [*PUBLIC, "__version__"]
    assert len(PUBLIC) <= MOST


def test_every_public_name_can_be_imported() -> None:
    assert [name for name in PUBLIC if not hasattr(postino, name)] == []


def test_docs_list_exactly_the_public_names() -> None:
    results = [
        name for row in table(ROOT / "docs" / "extending.md", "name", "what it is") for name in codes(row["name"])
    ]
    assert sorted(results) == PUBLIC
