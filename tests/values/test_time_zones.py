"""Time zones: read from the tzdata package, never from the machine."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from postino.errors import WrongUse
from postino.values.time_zones import get_zone, list_zone_names, suggest_zone


def test_every_zone_can_be_read() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    offsets = {noon.astimezone(get_zone(name)).utcoffset() for name in list_zone_names()}
    assert len(list_zone_names()) > 500
    assert {timedelta(hours=-11), timedelta(0), timedelta(hours=5, minutes=45), timedelta(hours=14)} <= offsets


def test_zones_do_not_come_from_the_machine() -> None:
    program = "import sys; from postino.values.time_zones import get_zone; get_zone('Europe/Rome'); sys.exit(0)"
    audited = f"import sys; sys.addaudithook(lambda name, args: name == 'open' and print(args[0])); {program}"
    done = subprocess.run([sys.executable, "-c", audited], capture_output=True, text=True, check=True)
    opened = [line for line in done.stdout.splitlines() if line.endswith("Rome")]
    assert len(opened) == 1
    assert "/tzdata/zoneinfo/" in opened[0]


@pytest.mark.parametrize("name", ["", "rome", "../zones", "/etc/localtime", "Europe", "Europe/Rome\0", "europe/rome"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(WrongUse) as error:
        get_zone(name)
    assert error.value.field == "timezone"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("Europe/Roma", "Europe/Rome"),
        ("europe/rome", "Europe/Rome"),
        ("Rome", "Europe/Rome"),
        ("New York", "America/New_York"),
        ("Asia/Kolkatta", "Asia/Kolkata"),
        ("GMT+2", None),  # Etc/GMT+2 has the opposite sign
        ("Italy", None),
        ("", None),
    ],
)
def test_the_nearest_zone_is_suggested(text: str, near: str | None) -> None:
    assert suggest_zone(text) == near


def test_a_refusal_names_the_given_field() -> None:
    with pytest.raises(WrongUse, match=r"Europe/Rome or America/New_York") as error:
        get_zone("Italy", field="blackouts[0].timezone")
    assert error.value.field == "blackouts[0].timezone"
