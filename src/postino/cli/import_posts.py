"""`postino posts import`: posts from a CSV file. It is checked first, and told what is wrong with which line."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.content_options import Timezone
from postino.cli.errors import in_options
from postino.cli.options import Json, with_target
from postino.cli.progress import EVERY, WORTH_TELLING, ProgressLine
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi
    from postino.client.types.imports import ImportView

Fault = Mapping[str, Any]
QUOTED, TIMES = re.compile("'[^']*'"), ("at", "publish_until")
MOST_LINES = 5
COLUMNS = ("LINE", "COLUMN", "VALUE", "SEVERITY", "MESSAGE")
File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV; - reads it from standard input.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is wrong with it; save nothing.")]


@with_target
def import_posts(
    file: File, timezone: Timezone = None, dry_run: DryRun = False, as_json: Json = False, *, target: Target
) -> None:
    """Plan the posts of a CSV file with the columns text, accounts and at. What is wrong is told, the rest is saved."""
    content = read(file)
    with in_options(), open_api(target) as postino:
        told = postino.imports.check(content, timezone=timezone)
        if not dry_run and told["rows"]:
            told = saved(postino, told, target)
    if as_json:
        output.print_json(told)
    else:
        show(told, dry_run=dry_run)
    if told["bad"]:
        raise typer.Exit(1)


def read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise WrongUse(f"FILE: {file} cannot be read: {error.strerror}.", field="file") from None


def saved(postino: "QueueApi", checked: "ImportView", target: Target) -> "ImportView":
    """Target it takes long and somebody waits, another one saves, and this one looks how far that is."""

    def save() -> "ImportView":
        with open_api(target) as other:
            return other.imports.save(checked["token"])

    if checked["rows"] < WORTH_TELLING or not sys.stderr.isatty():
        return postino.imports.save(checked["token"])
    progress = ProgressLine("lines are saved")
    with ThreadPoolExecutor(1) as another:
        saving = another.submit(save)
        while not wait_for([saving], EVERY).done:
            progress.tell(postino.imports.get(checked["id"])["looked"], checked["rows"])
        progress.clear()
        return saving.result()


def show(told: Mapping[str, Any], *, dry_run: bool) -> None:
    if told["faults"]:
        output.print_table(COLUMNS, [*group_problems(told["faults"])])
    if told["more_faults"]:
        output.print_line(f"And {told['more_faults']:,} more.")
    output.print_line(summary(told, dry_run=dry_run))


def group_problems(faults: Sequence[Fault]) -> Iterator[Sequence[output.Cell]]:
    """What is wrong with several lines alike is said once; of times that, whatever each of them is."""
    alike: dict[tuple[str, ...], list[Fault]] = {}
    for fault in faults:
        about = QUOTED.sub("", fault["message"]) if fault["column"] in TIMES else fault["message"]
        alike.setdefault((fault["column"], fault["severity"], about), []).append(fault)
    for (column, severity, _), those in alike.items():
        yield format_lines(those), column, those[0]["value"], severity, as_typed(those[0]["message"])


def format_lines(faults: Sequence[Fault]) -> str:
    numbers = ", ".join(str(fault["line"]) for fault in faults[:MOST_LINES])
    return numbers if len(faults) <= MOST_LINES else f"{numbers} and {len(faults) - MOST_LINES:,} more"


def as_typed(message: str) -> str:
    return message.replace("`timezone`", "--timezone")


def summary(told: Mapping[str, Any], *, dry_run: bool) -> str:
    if not told["rows"]:
        return "No line of it can be read as a post. Nothing was saved."
    bad = ""
    if told["bad"]:
        bad = ", which has faults" if told["rows"] == 1 else f", {told['bad']:,} of them with faults"
    lines = f"{count_noun(told['rows'], 'line')}{bad}"
    if dry_run:
        right = "" if told["faults"] else ", all right"
        return f"{lines}{right}: {count_noun(told['posts'], 'post')} would be planned. Nothing was saved."
    known = f", {told['known']:,} {was(told['known'])} known already" if told["known"] else ""
    planned = f"{count_noun(told['created'], 'post')} {'is' if told['created'] == 1 else 'are'} planned"
    return f"{lines}: {planned}{known}."


def count_noun(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def was(number: int) -> str:
    return "was" if number == 1 else "were"
