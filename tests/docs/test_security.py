"""docs/security.md names tests that exist, and the corpus has the size that it says."""

from __future__ import annotations

import re

from tests.documents import ROOT, codes, flow_text, links, prose
from tests.outbound.test_ssrf_corpus import CORPUS

PAGE = ROOT / "docs" / "security.md"


def test_every_named_test_exists() -> None:
    names = [code for code in codes(prose(PAGE)) if "::" in code]
    assert len(names) > 40
    for name in names:
        file, _, function = name.partition("::")
        assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE), name


def test_corpus_has_the_size_that_the_page_says() -> None:
    [urls, techniques] = map(int, re.findall(r"more than (\d+) (?:URLs|techniques)", flow_text(PAGE)))
    assert sum(len(entry["urls"]) for entry in CORPUS) > urls
    assert len(CORPUS) > techniques


def test_security_policy_and_readme_link_to_the_page() -> None:
    assert "docs/security.md" in links(ROOT / "SECURITY.md")
    assert "docs/security.md" in links(ROOT / "README.md")
