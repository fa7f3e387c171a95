"""openapi.json is what the API says of itself."""

from __future__ import annotations

import json
from typing import Any

from postino.api.openapi import document, written
from tests.documents import ROOT

KEPT = ROOT / "openapi.json"


def test_the_file_that_is_kept_is_what_the_api_says() -> None:
    """`make openapi` writes it anew."""
    assert KEPT.read_text(encoding="utf-8") == written(document())


def operations() -> list[dict[str, Any]]:
    told = json.loads(KEPT.read_text(encoding="utf-8"))
    return [operation for path in told["paths"].values() for operation in path.values()]


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for operation in operations()]
    assert len(names) == len(set(names))


def test_refusals_are_problem_details_everywhere() -> None:
    for operation in operations():
        assert "application/problem+json" in operation["responses"]["default"]["content"]
        assert "422" not in operation["responses"]
