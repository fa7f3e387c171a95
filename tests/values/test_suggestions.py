"""Suggestions for mistyped names."""

import pytest

from postino.values.suggestions import find_nearest, suggest_name
from tests.documents import ROOT

KNOWN = ("concurrency", "heartbeat", "lease")


@pytest.mark.parametrize(
    ("name", "nearest"), [("concurency", "concurrency"), ("leese", "lease"), ("zzz", None), ("", None)]
)
def test_the_nearest_name_is_found_if_one_is_similar(name: str, nearest: str | None) -> None:
    assert find_nearest(name, KNOWN) == nearest


def test_the_sentence_names_the_nearest_name_or_all_of_them() -> None:
    assert suggest_name("concurency", KNOWN) == "Did you mean concurrency?"
    assert suggest_name("zzz", KNOWN) == "Use one of: concurrency, heartbeat, lease."
    assert suggest_name("zzz", ()) == ""


def test_a_name_of_a_megabyte_is_compared_quickly() -> None:
    assert find_nearest("lease" * 200_000, KNOWN) is None


def test_no_other_module_compares_names() -> None:
    source = ROOT / "src" / "postino"
    users = [path.relative_to(source) for path in source.rglob("*.py") if "difflib" in path.read_text()]
    assert [str(path) for path in users] == ["values/suggestions.py"]
