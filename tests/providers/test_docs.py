"""docs/networks.md says what the code does."""

from __future__ import annotations

import re

import pytest

from postino.providers.registry import load_built_in
from tests.documents import ROOT

PROVIDERS, TITLES = load_built_in().providers, load_built_in().titles
PAGE = (ROOT / "docs" / "networks.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_network_has_a_section_with_its_promise(name: str) -> None:
    promise = PROVIDERS[name].promise
    section = plain(SECTIONS[TITLES[name]])
    assert f"**Class {promise.grade}.** {promise.sentence}" in section


def test_docs_describe_no_other_network() -> None:
    described = {title for title in SECTIONS if title in TITLES.values()}
    assert described == {TITLES[name] for name in PROVIDERS}


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_documented_times_match_the_code(name: str) -> None:
    provider, section = PROVIDERS[name], SECTIONS[TITLES[name]]
    assert f"{provider.timeout.total_seconds():g} s" in section
    assert f"{provider.listing_delay.total_seconds():g} s" in section or not provider.listing_delay


def test_docs_say_that_no_network_on_the_internet_was_called() -> None:
    assert "The tests call no network on the internet" in PAGE
