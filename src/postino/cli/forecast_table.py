"""Print a forecast as tables: what would run when, how late, and what it waits for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from postino.cli import output

JsonDict = Mapping[str, Any]
STARTED = ("STARTED_AT", "BY", "WHAT", "LATE", "WAITED_FOR", "BRAND", "QUEUE", "SCHEDULED_AT")
UNSTARTED = ("DUE_AT", "BY", "WHAT", "WAITS_FOR", "BRAND", "QUEUE")
TOTALS = ("CHANNEL", "STARTED", "UNSTARTED", "MAX_DELAY")
SPARE = ("SCHEDULED_AT", "BRAND")
MAX_TEXT = 40


def print_forecast(forecast: JsonDict, texts: Mapping[str, str], zone: ZoneInfo) -> None:
    def format_time(text: str) -> str:
        return f"{datetime.fromisoformat(text).astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"

    started = [
        (format_time(it["started_at"]), format_account(it), format_content(it, texts),
         format_seconds(it["delay_seconds"]), join_sentences(it["waited_for"]), it["brand"], it["queue"],
         format_time(it["scheduled_at"]), it["id"])
        for it in forecast["started_jobs"]
    ]  # fmt: skip
    print_table(STARTED, started, empty="No job would run in this time.")
    unstarted = [
        (format_time(it["scheduled_at"]), format_account(it), format_content(it, texts),
         join_sentences(it["waits_for"]), it["brand"], it["queue"], it["id"])
        for it in forecast["unstarted_jobs"]
    ]  # fmt: skip
    if unstarted:
        print_table(UNSTARTED, unstarted, title="Due, but would not run")
    if started or unstarted:
        totals = [
            (it["channel"], it["started"], it["unstarted"], format_seconds(it["max_delay_seconds"]))
            for it in forecast["totals"]
        ]
        output.print_table(TOTALS, totals, title="By channel")


def format_seconds(seconds: float) -> str:
    from postino.forecast.timeline import format_duration

    return format_duration(timedelta(seconds=seconds))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[output.Cell]], *, empty: str = "", title: str = ""
) -> None:
    """Print a table; outside a terminal with the ids, which end every row."""
    if output.is_terminal():
        output.print_table(columns, [row[:-1] for row in rows], empty=empty, title=title, spare=SPARE)
    else:
        output.print_table((*columns, "ID"), rows, title=title)


def format_account(job: JsonDict) -> str:
    return f"{job['account'] or job['channel']}"


def format_content(job: JsonDict, texts: Mapping[str, str]) -> str:
    """Return the first words of a post; of another job its type and, in a terminal, its id."""
    if job["id"] in texts:
        return shorten_text(texts[job["id"]])
    return f"{job['type']} {job['id']}" if output.is_terminal() else f"{job['type']}"


def shorten_text(text: str) -> str:
    line = output.collapse_whitespace(text)
    if len(line) <= MAX_TEXT:
        return line
    whole, space, _ = line[:MAX_TEXT].rpartition(" ")
    return f"{whole if space else line[: MAX_TEXT - 1]}…"


def join_sentences(waits: Iterable[JsonDict]) -> str | None:
    return " ".join(output.end_sentence(wait["sentence"]) for wait in waits) or None
