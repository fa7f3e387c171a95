"""Extreme values: texts, times and zones at the bounds of what the API accepts, and just beyond them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.extremes.in_process import Fields

EMOJI, BYTES = "\U0001f600" * 125, "".join(chr(0x4E00 + 7 * n) for n in range(166))
LABELS = ["a", " ", "\n", "'\"\\%_{}", "\x01\x1b[31m\u202e", "é\u0301", "\ufffe", "x" * 500, EMOJI, BYTES, "@", "null"]
REFUSED_LABELS = ["", "x" * 501, "\x00", "\ud800", EMOJI + "x", 7, ["a"]]
TEXTS = [
    *LABELS, *REFUSED_LABELS, None, "\r\n\r\n", "{{", "{{a}}", "}}{{ }}", "{{a}}" * 900, "<" * 500, "#" * 500,
    "@" * 500, "http://" * 70, "%s%n{0.__class__}", "'; DROP TABLE jobs; --", "https://a.example/" + "b" * 4000,
    "a\u0300" * 2000, "\U000e0041" * 400, "\u200b", "x" * 5000, "x" * 5001, "👩‍👩‍👧‍👦" * 400, "\u2028\u2029\x85",
    "=1+1",
]  # fmt: skip
DEEP = json.loads("[" * 200 + "]" * 200)
NUMBERS = [0, -0.0, -1, 0.5, 1, 2**31, 2**63, 10**400, 1e308, 5e-324, True]
INSTANTS = [
    "1970-01-01T00:00:00Z", "8999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z", "8999-12-31T23:59:59-23:59",
    "2030-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00", "2031-06-30T23:59:60Z", "", " ", "now", "\x00", "9" * 5000, 7,
]  # fmt: skip
LOCALS = [
    "2031-03-30T02:30",  # skipped in most of Europe
    "2031-10-26T02:30:00.000001",  # comes twice there
    "2031-04-06T01:45",  # comes twice on Lord Howe, where clocks move by half an hour
    "2031-01-01",
    "8999-12-31T23:59",
    "0001-01-01T00:00",
]
ZONES = [
    "Europe/Rome", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia",
    "Pacific/Chatham", "America/St_Johns", "Antarctica/Troll", "Etc/GMT+12", "Etc/GMT-14", "UTC", "Factory",
]  # fmt: skip
FEW_ZONES = ["Europe/Rome", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]
REFUSED_ZONES = ["", "Nowhere", "../../etc/passwd", "europe/rome", "\x00", "\ud800", "x" * 5000, 7]

few = settings(
    max_examples=1,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    report_multiple_bugs=False,
)


def list_single_extremes(common: Mapping[str, Any], values: Mapping[str, list[Any]]) -> list[Fields]:
    """Return a body for each value of each field."""
    return [Fields({**common, name: value}) for name, some in values.items() for value in some]


@st.composite
def extreme_fields(draw: st.DrawFn, common: Mapping[str, Any], values: Mapping[str, list[Any]]) -> Fields:
    """Return a body with a few extreme values, so that many are accepted."""
    names = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=3, unique=True))
    return Fields({**common} | {name: draw(st.sampled_from(values[name])) for name in names})
