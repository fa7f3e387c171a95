"""Every regular expression takes time in proportion to its input: text of strangers cannot stop a process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import pytest

from postino.providers import bluesky, mastodon, telegram
from postino.sandbox.networks import networks
from postino.sandbox.requests import compile_path
from tests.growth.attacks import list_attacks
from tests.growth.measure import find_superlinear
from tests.growth.patterns import UsedPattern, find_imports, find_patterns, make_work

PATTERNS = [*find_patterns()]
# Patterns that the source computes, and what they are. An entry is needed for each, with the reason or with examples.
COMPUTED: Mapping[tuple[str, str], Callable[[], Iterable[str]]] = {
    ("cli/errors.py", r"f'\\b{error.field}(?=:| is )'"): lambda: [r"\bscope(?=:| is )"],
    ("providers/error_codes.py", "self.pattern"): lambda: (
        rule.pattern for network in (bluesky, mastodon, telegram) for rule in network.ERRORS
    ),
    ("sandbox/requests.py", "prefix + ''.join(escaped)"): lambda: (
        compile_path(network.prefix, endpoint.path).pattern
        for network in networks().values()
        for endpoint in network.endpoints
    ),
    ("stores/statement.py", "pattern"): lambda: (),  # applied to Postino's own SQL, once
}


def test_the_search_finds_patterns_everywhere() -> None:
    assert len(PATTERNS) > 60
    assert {"search", "sub", "fullmatch"} <= {method for one in PATTERNS for method in one.methods}
    assert list(find_imports()) == []  # as `import re` and `import regex` only, so that the search finds their use


def test_every_computed_pattern_is_known() -> None:
    assert {(one.place, one.expression) for one in PATTERNS if one.pattern is None} == set(COMPUTED)


@pytest.mark.parametrize(
    "used", [one for one in PATTERNS if one.pattern is not None], ids=lambda one: f"{one.place} {one.expression[:40]}"
)
def test_pattern_is_linear(used: UsedPattern) -> None:
    attacks = list_attacks(used.pattern.pattern, used.pattern.flags)
    assert [found for work in used.works if (found := find_superlinear(work, attacks))] == []


@pytest.mark.parametrize("place", [place for place in COMPUTED if place[0] != "stores/statement.py"])
def test_computed_pattern_is_linear(place: tuple[str, str]) -> None:
    for text in sorted({*COMPUTED[place]()} - {""}):
        pattern = re.compile(text, re.IGNORECASE)
        assert find_superlinear(make_work(pattern, "search"), list_attacks(text)) is None, text


@pytest.mark.parametrize(
    "pattern",
    [r"<[^>]*>", r"[ \t]+$", r"\w+@", r"(a|a)*b", r"(\w+\s?)+!", r"'.*x", r"a*a*b", r"\d+(?=:)\s"],
)
def test_slow_pattern_is_noticed(pattern: str) -> None:
    compiled = re.compile(pattern, re.MULTILINE)
    assert find_superlinear(make_work(compiled, "search"), list_attacks(pattern)) is not None
