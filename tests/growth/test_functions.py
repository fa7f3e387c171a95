"""Functions that read text of strangers take time in proportion to it, also those without a regular expression."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from postino.api.authentication import parse_bearer
from postino.api.body_limits import InvalidBody, check_body
from postino.api.problems import abbreviate
from postino.api.query import parse_query
from postino.errors import WrongUse
from postino.outbound.redaction import Redaction
from postino.outbound.ssrf import check_url
from postino.providers.atproto import find_spans
from postino.providers.text_match import is_same_as_html, is_same_text, strip_tags
from postino.publishing.contents import normalize_search_text
from postino.publishing.csv_file import parse_csv, split_list, split_words
from postino.rules.error_groups import generalize_error
from postino.rules.failures import parse_reset_time, parse_retry_after
from postino.rules.hashtags import append_tags, check_tags, find_tags
from postino.rules.local_time import parse_time
from postino.rules.media import guess_file_type
from postino.rules.rendering import normalize_text, render_content
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import Content
from postino.values.suggestions import suggest_name
from postino.values.text import normalize_unicode
from tests.growth.attacks import repeat
from tests.growth.measure import find_superlinear

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STARTS = ("", "a", "http://", "http://a.b/", "@a@", "#", "<", "&#", "{{", '"', "\n")
PUMPS = (
    "a", "1", " ", ".", "-", "/", "@", "@a", "@a@b", "#", "#a ", "<", "<a ", "<br ", ">", "<>", "&", "&#", "&#1;",
    "&amp;", "{{", "}}", "{{a}}", "(", ")", "()", "'", '"', '""', ",", ", ", ";", "\\", "%", "%2f", "=", "a=1&", "[",
    "]", "\n", "\r\n", " \n", "http://", "http://a.b ", "é", "\u0301", "\u0316\u0301", "\u200d", "👍", "🇮", "한",
    "secret", "secretsecre", "2026-01-01T",
)  # fmt: skip
ATTACKS = [partial(repeat, start, pump, end) for start in STARTS for pump in PUMPS for end in ("", "\0")]


def count(measure: Measure) -> Callable[[str], int]:
    return LengthLimit(measure=measure, most=1, link=23, short_mentions=True).count


def tolerate(work: Callable[[str], Any]) -> Callable[[str], Any]:
    def run(text: str) -> None:
        with suppress(WrongUse, InvalidBody):
            work(text)

    return run


FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "page of a network": lambda text: is_same_as_html("x", text),
    "text of a network": lambda text: is_same_text("x", text),
    "tags": strip_tags,
    "spans": find_spans,
    "unicode": normalize_unicode,
    "folded": normalize_search_text,
    "normalized": normalize_text,
    "rendered": lambda text: render_content(Content(body=text[:5000], placeholders={"a": "b"}), "mastodon"),
    "hashtags in text": find_tags,
    "hashtags": lambda text: append_tags([text], ["a", text]),
    "checked hashtags": lambda text: check_tags([text], "hashtags"),
    **{f"length in {measure}": count(measure) for measure in Measure},
    "error": generalize_error,
    "redacted": Redaction(["secretsecretsecret", "s"]),
    "redacted body": lambda text: Redaction(["secretsecretsecret"]).redact_body(text.encode()),
    "retry-after": lambda text: parse_retry_after({"retry-after": text}, NOW),
    "reset time": lambda text: parse_reset_time(text, NOW, {}),
    "local time": lambda text: parse_time(text, "Europe/Rome"),
    "file type": guess_file_type,
    "url": lambda text: check_url(text, ()),
    "csv": lambda text: parse_csv(f"text,accounts,at\n{text}".encode()),
    "list": split_list,
    "words": split_words,
    "query": lambda text: parse_query(text.encode(), ()),
    "name": lambda text: suggest_name(text, ["mastodon", "bluesky"]),
    "bearer": parse_bearer,
    "abbreviated": abbreviate,
    "body": lambda text: check_body(text.encode()),
    "text in body": lambda text: check_body(json.dumps({"a": [text]}).encode()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_linear(name: str) -> None:
    assert find_superlinear(tolerate(FUNCTIONS[name]), ATTACKS) is None
