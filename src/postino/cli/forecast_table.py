"""A simulation for eyes: who would say what and when, how late that is, and what it waited for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from postino.cli import output

JsonDict = Mapping[str, Any]
RAN = ("STARTED_AT", "BY", "WHAT", "LATE", "WAITED_FOR", "BRAND", "QUEUE", "SCHEDULED_AT")
LEFT = ("DUE_AT", "BY", "WHAT", "WAITS_FOR", "BRAND", "QUEUE")
TOTALS = ("CHANNEL", "RAN", "LEFT", "LATEST")
SPARE = ("SCHEDULED_AT", "BRAND")
FEW_WORDS = 40


def show(played: JsonDict, texts: Mapping[str, str], place: ZoneInfo) -> None:
    def at(text: str) -> str:
        return f"{datetime.fromisoformat(text).astimezone(place):%Y-%m-%d %H:%M:%S %Z}"

    ran = [
        (at(it["started_at"]), by(it), what(it, texts), lasting(it["late_by"]), sentences(it["waited_for"]),
         it["brand"], it["queue"], at(it["scheduled_at"]), it["id"])
        for it in played["ran"]
    ]  # fmt: skip
    table(RAN, ran, empty="Nothing would run in this time.")
    left = [
        (at(it["scheduled_at"]), by(it), what(it, texts), sentences(it["waits_for"]), it["brand"], it["queue"],
         it["id"])
        for it in played["left"]
    ]  # fmt: skip
    if left:
        table(LEFT, left, title="Due, and would not have run")
    if ran or left:
        totals = [(it["channel"], it["ran"], it["left"], lasting(it["latest_late_by"])) for it in played["totals"]]
        output.print_table(TOTALS, totals, title="By channel")


def lasting(seconds: float) -> str:
    from postino.forecast.timeline import format_duration

    return format_duration(timedelta(seconds=seconds))


def table(columns: Sequence[str], rows: Sequence[Sequence[output.Cell]], *, empty: str = "", title: str = "") -> None:
    """In a pipe with the ids, which end every row."""
    if output.is_terminal():
        output.print_table(columns, [row[:-1] for row in rows], empty=empty, title=title, spare=SPARE)
    else:
        output.print_table((*columns, "ID"), rows, title=title)


def by(one: JsonDict) -> str:
    return f"{one['account'] or one['channel']}"


def what(one: JsonDict, texts: Mapping[str, str]) -> str:
    """The first words of a post; of another job its type and, target it stands nowhere else, its id."""
    if one["id"] in texts:
        return first_words(texts[one["id"]])
    return f"{one['type']} {one['id']}" if output.is_terminal() else f"{one['type']}"


def first_words(text: str) -> str:
    said = output.collapse_whitespace(text)
    if len(said) <= FEW_WORDS:
        return said
    whole, space, _ = said[:FEW_WORDS].rpartition(" ")
    return f"{whole if space else said[: FEW_WORDS - 1]}…"


def sentences(waits: Iterable[JsonDict]) -> str | None:
    return " ".join(output.end_sentence(wait["sentence"]) for wait in waits) or None
