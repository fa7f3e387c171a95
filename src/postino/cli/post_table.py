"""Posts for somebody at a terminal: a line each, two where one has no room, and below it what went wrong.

An id is never cut: it is what one types next.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.cli import output

if TYPE_CHECKING:
    from rich.text import Text

HEAD = {"id": "ID", "text": "TEXT", "status": "STATUS", "when": "WHEN_AT", "account": "ACCOUNT"}
GAP, INDENT = 2, 2
ID = 36
INSTANT = len("2026-03-01T09:05:07Z")  # or 2026-03-01 10:05 CET
LEAST_TEXT, LEAST_ACCOUNT, MOST_ACCOUNT, HARDLY = 18, 13, 32, 6
Widths = Mapping[str, int]  # of each column, in their order


def show(posts: Sequence[Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    cells = [format_cells(told) for told in posts]
    layout = choose_layout(
        console.width,
        status=max(it["status"].cell_len for it in cells),
        account=max(it["account"].cell_len for it in cells),
    )
    head = {name: Text(title, style="bold") for name, title in HEAD.items()}
    for widths in layout:
        console.print(line(head, widths, first=widths is layout[0]), soft_wrap=True)
    for told, row in zip(posts, cells, strict=True):
        for widths in layout:
            console.print(line(row, widths, first=widths is layout[0]), soft_wrap=True)
        if (trouble := current_error(told)) is not None:
            below = Text(
                " " * INDENT + output.collapse_whitespace(output.escape_control_characters(trouble)), style="dim"
            )
            below.truncate(console.width, overflow="ellipsis")
            console.print(below, soft_wrap=True)


def choose_layout(room: int, *, status: int, account: int) -> list[Widths]:
    """One line where all has room; else what is short above, and the account and the text below it."""
    status, account = max(status, len(HEAD["status"])), max(min(account, MOST_ACCOUNT), len(HEAD["account"]))
    free = room - ID - status - INSTANT - 4 * GAP
    if free >= LEAST_TEXT + min(account, LEAST_ACCOUNT):
        account = min(account, free - LEAST_TEXT)
        return [{"id": ID, "text": free - account, "status": status, "when": INSTANT, "account": account}]
    above, below = {"id": ID, "status": status, "when": INSTANT}, room - INDENT
    if sum(above.values()) + 2 * GAP > room:
        above = {"id": ID, "status": max(min(status, room - ID - GAP), HARDLY)}
        account = max(min(account, below - INSTANT - LEAST_TEXT - 2 * GAP), HARDLY)
        text = max(below - INSTANT - account - 2 * GAP, HARDLY)
        return [above, {"when": INSTANT, "account": account, "text": text}]
    return [above, {"account": account, "text": below - account - GAP}]


def format_cells(told: Mapping[str, Any]) -> "dict[str, Text]":
    from rich.text import Text

    status = Text(told["status"], style=output.STYLES.get(told["status"], ""))
    for flag in told["flags"]:
        status.append(f" {flag}", style="yellow")
    when_at = told["published_at"] or told["run_at"] or told["scheduled_at"]
    return {
        "id": Text(told["id"]),
        "text": Text(output.shorten(told["text"])),
        "status": status,
        "when": Text(output.format_cell(output.parse_instant(when_at))),
        "account": Text(output.escape_control_characters(told["account"])),
    }


def line(row: "dict[str, Text]", widths: Widths, *, first: bool) -> "Text":
    from rich.text import Text

    shown: list[Text] = []
    for name, width in widths.items():
        cell = row[name].copy()
        cell.truncate(width, overflow="ellipsis", pad=True)
        shown.append(cell)
    joined = Text("" if first else " " * INDENT).append_text(Text(" " * GAP).join(shown))
    joined.rstrip()
    return joined


def current_error(told: Mapping[str, Any]) -> str | None:
    """The last error, unless it is history."""
    error: str | None = told["last_error"]
    return None if told["status"] == "published" else error
