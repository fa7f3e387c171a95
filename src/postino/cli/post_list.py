"""Posts for somebody at a terminal: a line each, and below it what went wrong. What fits is decided by the width."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from postino.cli import output

if TYPE_CHECKING:
    from rich.text import Text

HEAD = {"id": "ID", "text": "TEXT", "status": "STATUS", "when": "WHEN_AT", "account": "ACCOUNT"}
GAP = 2
INSTANT = len("2026-03-01T09:05:07Z")  # or 2026-03-01 10:05 CET
IDS = (36, 21, 9)  # whole, without its middle, its end: the end tells posts of one minute apart
LEAST_TEXT, LEAST_ACCOUNT, MOST_ACCOUNT, HARDLY = 18, 13, 32, 6
INDENT = "  "


@dataclass(frozen=True, slots=True)
class Widths:
    """Of each column; an account without any is left out."""

    id: int
    text: int
    status: int
    when: int
    account: int


def show(posts: Sequence[Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    cells = [cells_of(told) for told in posts]
    widths = widths_for(
        console.width,
        status=max(it["status"].cell_len for it in cells),
        account=max(it["account"].cell_len for it in cells),
    )
    head = {name: Text(title, style="bold") for name, title in HEAD.items()}
    console.print(line(head, widths), soft_wrap=True)
    for told, row in zip(posts, cells, strict=True):
        console.print(line(row, widths), soft_wrap=True)
        if (trouble := trouble_of(told)) is not None:
            below = Text(INDENT + output.on_one_line(output.printable(trouble)), style="dim")
            below.truncate(console.width, overflow="ellipsis")
            console.print(below, soft_wrap=True)
    if widths.id < IDS[0]:
        output.hint("There is no room for whole ids: a wider terminal, a pipe or --json shows them.")


def widths_for(room: int, *, status: int, account: int) -> Widths:
    """The text always and the time always; then the id as whole as it can be; then the account."""
    status = max(status, len(HEAD["status"]))
    free = room - status - INSTANT - 3 * GAP
    whole = next((width for width in IDS if free - width >= LEAST_TEXT), IDS[-1])
    text = max(free - whole, HARDLY)
    spare = min(text - LEAST_TEXT - GAP, account, MOST_ACCOUNT)
    if spare < min(LEAST_ACCOUNT, account):
        return Widths(whole, text, status, INSTANT, 0)
    return Widths(whole, text - spare - GAP, status, INSTANT, spare)


def cells_of(told: Mapping[str, Any]) -> "dict[str, Text]":
    from rich.text import Text

    status = Text(told["status"], style=output.STYLES.get(told["status"], ""))
    for flag in told["flags"]:
        status.append(f" {flag}", style="yellow")
    when_at = told["published_at"] or told["run_at"] or told["scheduled_at"]
    return {
        "id": Text(told["id"]),
        "text": Text(output.shortened(told["text"])),
        "status": status,
        "when": Text(output.shown(output.at(when_at))),
        "account": Text(output.printable(told["account"])),
    }


def line(row: "dict[str, Text]", widths: Widths) -> "Text":
    from rich.text import Text

    shown: list[Text] = []
    for name, cell in row.items():
        width: int = getattr(widths, name)
        if width:
            cell = Text(without_middle(cell.plain, width)) if name == "id" and len(cell) > width else cell.copy()
            cell.truncate(width, overflow="ellipsis", pad=True)
            shown.append(cell)
    joined = Text(" " * GAP).join(shown)
    joined.rstrip()
    return joined


def without_middle(text: str, width: int) -> str:
    """Of an id the beginning, where there is room for it, and the end."""
    first = 8 if width > IDS[-1] else 0
    return f"{text[:first]}…{text[-(width - first - 1) :]}"


def trouble_of(told: Mapping[str, Any]) -> str | None:
    """The last error, unless it is history."""
    error: str | None = told["last_error"]
    return None if told["status"] == "published" else error
