"""docs/api.md describes the clients; tests/docs runs its examples."""

from __future__ import annotations

from datetime import timedelta

from postino.client import TIMEOUT, ApiUnavailable, Client, NotAllowed, RetryOptions, errors
from postino.client.endpoints import Resource
from tests.client.test_every_method import list_all_methods
from tests.documents import ROOT, code, codes, prose, table

PAGE = ROOT / "docs" / "api.md"


def test_docs_list_every_method_and_no_other() -> None:
    rows = table(PAGE, "resource", "methods")
    results = {
        name if row["resource"] == "the client itself" else f"{code(row['resource'])}.{name}"
        for row in rows
        for name in codes(row["methods"])
    }
    assert results == list_all_methods()
    resources = {name for name, it in vars(Client("http://127.0.0.1:1")).items() if isinstance(it, Resource)}
    assert {code(row["resource"]) for row in rows if row["resource"] != "the client itself"} == resources


def test_docs_state_timeout_retries_and_errors() -> None:
    assert (TIMEOUT, RetryOptions().attempts, RetryOptions().max_delay) == (
        timedelta(seconds=30),
        4,
        timedelta(seconds=20),
    )
    raised = {kind.__name__ for kind in (*errors.ERROR_TYPES.values(), NotAllowed, ApiUnavailable)}
    assert raised | {"WrongUse", "PostinoError"} <= set(codes(prose(PAGE)))
