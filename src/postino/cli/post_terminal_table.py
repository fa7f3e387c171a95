"""Print posts in a terminal: one line each, or two if the terminal is narrow, and the error below.

`post_view` prints posts to a pipe. Ids are never cut, because people copy them.
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
MIN_TEXT, MIN_ACCOUNT, MAX_ACCOUNT, MIN_WIDTH = 18, 13, 32, 6
Widths = Mapping[str, int]  # of each column, in their order


def print_terminal_table(posts: Sequence[Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    cells = [format_cells(post) for post in posts]
    layout = choose_layout(
        console.width,
        status=max(it["status"].cell_len for it in cells),
        account=max(it["account"].cell_len for it in cells),
    )
    head = {name: Text(title, style="bold") for name, title in HEAD.items()}
    for widths in layout:
        console.print(format_line(head, widths, first=widths is layout[0]), soft_wrap=True)
    for post, row in zip(posts, cells, strict=True):
        for widths in layout:
            console.print(format_line(row, widths, first=widths is layout[0]), soft_wrap=True)
        if (error_text := find_current_error(post)) is not None:
            below = Text(
                " " * INDENT + output.collapse_whitespace(output.escape_control_characters(error_text)), style="dim"
            )
            below.truncate(console.width, overflow="ellipsis")
            console.print(below, soft_wrap=True)


def choose_layout(room: int, *, status: int, account: int) -> list[Widths]:
    """Use one line if everything fits; else the short columns above, account and text below."""
    status, account = max(status, len(HEAD["status"])), max(min(account, MAX_ACCOUNT), len(HEAD["account"]))
    free = room - ID - status - INSTANT - 4 * GAP
    if free >= MIN_TEXT + min(account, MIN_ACCOUNT):
        account = min(account, free - MIN_TEXT)
        return [{"id": ID, "text": free - account, "status": status, "when": INSTANT, "account": account}]
    above, below = {"id": ID, "status": status, "when": INSTANT}, room - INDENT
    if sum(above.values()) + 2 * GAP > room:
        above = {"id": ID, "status": max(min(status, room - ID - GAP), MIN_WIDTH)}
        account = max(min(account, below - INSTANT - MIN_TEXT - 2 * GAP), MIN_WIDTH)
        text = max(below - INSTANT - account - 2 * GAP, MIN_WIDTH)
        return [above, {"when": INSTANT, "account": account, "text": text}]
    return [above, {"account": account, "text": below - account - GAP}]


def format_cells(post: Mapping[str, Any]) -> "dict[str, Text]":
    from rich.text import Text

    status = Text(post["status"], style=output.STYLES.get(post["status"], ""))
    for flag in post["flags"]:
        status.append(f" {flag}", style="yellow")
    when_at = post["published_at"] or post["run_at"] or post["scheduled_at"]
    return {
        "id": Text(post["id"]),
        "text": Text(output.shorten(post["text"])),
        "status": status,
        "when": Text(output.format_cell(output.parse_instant(when_at))),
        "account": Text(output.escape_control_characters(post["account"])),
    }


def format_line(row: "dict[str, Text]", widths: Widths, *, first: bool) -> "Text":
    from rich.text import Text

    cells: list[Text] = []
    for name, width in widths.items():
        cell = row[name].copy()
        cell.truncate(width, overflow="ellipsis", pad=True)
        cells.append(cell)
    joined = Text("" if first else " " * INDENT).append_text(Text(" " * GAP).join(cells))
    joined.rstrip()
    return joined


def find_current_error(post: Mapping[str, Any]) -> str | None:
    """Return the last error, unless the post was published after it."""
    error: str | None = post["last_error"]
    return None if post["status"] == "published" else error
