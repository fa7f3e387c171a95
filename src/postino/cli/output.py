"""Print results: tables in a terminal, aligned lines in a pipe, or JSON. Knows nothing about jobs."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

Cell = str | int | float | datetime | None
MAX_CELL = 160
MAX_WIDTH, GAP = 24, 2
WHOLE = ("ID", "STATE", "STATUS", "CAUSE", "ATTEMPTS")  # never cut: people copy them
CUT, MIN_CUT = ("LAST_ERROR", "ERROR", "TEXT", "ACCOUNT"), 13  # cut to one line
LEAST_NEEDED = (
    "QUEUE", "WORKER", "CHANNEL", "NETWORK", "FINISHED_AT", "DIED_AT", "ATTEMPTS", "ACCOUNT", "TYPE",
)  # fmt: skip
STYLES = {
    "completed": "green", "replayed": "green", "pending": "cyan", "running": "yellow", "uncertain": "magenta",
    "published": "green", "scheduled": "cyan", "publishing": "yellow", "active": "green", "token_expired": "red",
    "suspended": "red",
    "locked": "red",
    "failed": "red", "refused": "red", "cancelled": "dim", "paused": "yellow", "gone": "red",
}  # fmt: skip
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_line(text: str) -> None:
    """Print and flush, so that a closed pipe is noticed here and not when Python exits."""
    sys.stdout.write(escape_control_characters(text) + "\n")
    sys.stdout.flush()


def print_json(value: Any) -> None:
    print_line(to_json(value))


def to_json(value: Any) -> str:
    return json.dumps(value, indent=2 if is_terminal() else None, allow_nan=False)


def print_result(value: Any, message: str, *, as_json: bool) -> None:
    """Print JSON for programs or a sentence for people."""
    print_line(to_json(value) if as_json else message)


def print_json_line(value: Any) -> None:
    """Print JSON on one line, also in a terminal."""
    print_line(json.dumps(value))


def print_json_list(data: Sequence[Any], next_cursor: str | None = None, **more: Any) -> None:
    print_json({"data": data, "next_cursor": next_cursor, **more})


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    empty: str = "",
    title: str = "",
    spare: Sequence[str] = (),
) -> None:
    """Print all columns in a pipe. In a terminal omit empty columns, and those in `spare` if there is no room."""
    if not is_terminal():
        if title:
            print_line(f"\n{title}")
        for line in align_columns([columns, *rows]):
            print_line(line)
    elif rows:
        print_rich_table(columns, rows, title, spare)
    elif empty:
        print_line(empty)


def align_columns(rows: Sequence[Sequence[Cell]]) -> list[str]:
    texts = [[collapse_whitespace(format_cell(cell)) for cell in row] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(*texts, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in texts]


def print_rich_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], title: str, spare: Sequence[str]) -> None:
    from rich.console import Console

    console = Console()
    used = choose_columns(columns, rows, console.width, (*spare, *LEAST_NEEDED))
    console.print(
        build_rich_table([columns[index] for index in used], [[row[index] for index in used] for row in rows], title)
    )


def build_rich_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], title: str = "") -> Any:
    """Build a rich table: some columns are never cut, errors are cut to fit, all others wrap."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
    )  # fmt: skip
    for index, name in enumerate(columns):
        width = max(len(shorten(row[index])) for row in rows) if is_whole(name) else None
        table.add_column(name, no_wrap=is_whole(name), min_width=width, overflow="fold")
    for row in rows:
        cells = zip(columns, row, strict=True)
        table.add_row(*(style_text(shorten(cell), cut=name in CUT) for name, cell in cells))
    return table


def choose_columns(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], room: int, least_needed: Sequence[str] = LEAST_NEEDED
) -> list[int]:
    """Return the columns to print: those with content, and as many of `least_needed` as fit."""
    widths = {
        index: max(len(name), *(minimum_width(name, row[index]) for row in rows)) + GAP
        for index, name in enumerate(columns)
        if any(row[index] is not None for row in rows)
    }
    used = {index for index in widths if columns[index] not in least_needed}
    for name in reversed(least_needed):
        index = columns.index(name) if name in columns else -1
        if index in widths and sum(widths[it] for it in used) + widths[index] <= room:
            used.add(index)
    return sorted(used)


def minimum_width(name: str, cell: Cell) -> int:
    width = len(format_cell(cell))
    return width if is_whole(name) else min(width, MIN_CUT if name in CUT else MAX_WIDTH)


def is_whole(column: str) -> bool:
    return column in WHOLE or column.endswith("_AT")


def style_text(text: str, *, cut: bool = False) -> Any:
    from rich.text import Text

    return Text(text, style=STYLES.get(text, ""), no_wrap=cut or None, overflow="ellipsis" if cut else None)


def print_fields(values: Mapping[str, Cell]) -> None:
    """Print one field per line. In a terminal omit empty fields and add how far away times are."""
    if not is_terminal():
        for line in align_columns(list(values.items())):
            print_line(line)
        return
    from rich.console import Console
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for name, value in values.items():
        if value is not None:
            far = f" ({format_distance(value - datetime.now(UTC))})" if isinstance(value, datetime) else ""
            grid.add_row(f"[bold]{name}", style_text(format_cell(value) + far))
    Console().print(grid)


def format_cell(cell: Cell) -> str:
    match cell:
        case None:
            return "-"
        case bool():
            return "yes" if cell else "no"
        case datetime():
            return format_instant(cell)
        case _:
            return escape_control_characters(str(cell))


def parse_instant(text: str | None, timezone: str | None = None) -> datetime | None:
    """Parse a timestamp of the API, and convert it to a time zone if one is passed."""
    if text is None:
        return None
    from postino.values.time_zones import get_zone

    at = datetime.fromisoformat(text)
    return at if timezone is None else at.astimezone(get_zone(timezone))


def format_instant(at: datetime) -> str:
    """Format a time in its own zone; without one in local time at a terminal, else in UTC."""
    here = at if isinstance(at.tzinfo, ZoneInfo) else at.astimezone() if is_terminal() else at.astimezone(UTC)
    return f"{here:%Y-%m-%d %H:%M %Z}" if here.utcoffset() else f"{here:%Y-%m-%dT%H:%M:%SZ}"


def format_distance(away: timedelta) -> str:
    seconds = round(away.total_seconds())
    size, unit = next(((size, unit) for size, unit in UNITS if abs(seconds) >= size), (1, "s"))
    text = f"{abs(seconds) // size} {unit}"
    return f"in {text}" if seconds > 0 else f"{text} ago"


def escape_control_characters(text: str) -> str:
    """Escape what a terminal would interpret, and what changes the direction of text: it may come from outside."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def end_sentence(sentence: str) -> str:
    """Add a full stop if there is none, so that another sentence can follow."""
    text = sentence.rstrip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split()) or "-"


def shorten(cell: Cell) -> str:
    text = collapse_whitespace(format_cell(cell))
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def print_hint(text: str) -> None:
    """Print a hint on stderr, so that stdout holds only the result."""
    sys.stderr.write(escape_control_characters(text) + "\n")
