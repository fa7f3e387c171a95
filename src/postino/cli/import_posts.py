"""`postino posts import`: create posts from a CSV file, after checking every line."""

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
from postino.cli.errors import use_option_names
from postino.cli.options import Json, with_target
from postino.cli.progress import INTERVAL, MIN_ITEMS, ProgressLine
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi
    from postino.client.types.imports import ImportView

Problem = Mapping[str, Any]
QUOTED, TIMES = re.compile("'[^']*'"), ("at", "publish_until")
MAX_LINES = 5
COLUMNS = ("LINE", "COLUMN", "VALUE", "SEVERITY", "MESSAGE")
File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV file; - reads standard input.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only check the file; save nothing.")]


@with_target
def import_posts(
    file: File, timezone: Timezone = None, dry_run: DryRun = False, as_json: Json = False, *, target: Target
) -> None:
    """Schedule the posts of a CSV file with the columns text, accounts and at.

    Lines with errors are skipped.
    """
    content = read_file(file)
    with use_option_names(), open_api(target) as postino:
        result = postino.imports.check(content, timezone=timezone)
        if not dry_run and result["rows"]:
            result = save_import(postino, result, target)
    if as_json:
        output.print_json(result)
    else:
        print_import(result, dry_run=dry_run)
    if result["invalid_rows"]:
        raise typer.Exit(1)


def read_file(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise WrongUse(f"FILE: {file} cannot be read: {error.strerror}.", field="file") from None


def save_import(postino: "QueueApi", checked: "ImportView", target: Target) -> "ImportView":
    """Save the posts. At a terminal, a large import runs in a thread while this one shows its progress."""

    def save() -> "ImportView":
        with open_api(target) as api:
            return api.imports.save(checked["token"])

    if checked["rows"] < MIN_ITEMS or not sys.stderr.isatty():
        return postino.imports.save(checked["token"])
    progress = ProgressLine("lines saved")
    with ThreadPoolExecutor(1) as executor:
        saving = executor.submit(save)
        while not wait_for([saving], INTERVAL).done:
            progress.update(postino.imports.get(checked["id"])["processed_rows"], checked["rows"])
        progress.clear()
        return saving.result()


def print_import(result: Mapping[str, Any], *, dry_run: bool) -> None:
    if result["problems"]:
        output.print_table(COLUMNS, [*group_problems(result["problems"])])
    if result["more_problems"]:
        output.print_line(f"And {result['more_problems']:,} more.")
    output.print_line(format_summary(result, dry_run=dry_run))


def group_problems(problems: Sequence[Problem]) -> Iterator[Sequence[output.Cell]]:
    """Group equal problems of several lines into one row; for times, whatever the value is."""
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        about = QUOTED.sub("", problem["message"]) if problem["column"] in TIMES else problem["message"]
        groups.setdefault((problem["column"], problem["severity"], about), []).append(problem)
    for (column, severity, _), group in groups.items():
        yield format_lines(group), column, group[0]["value"], severity, use_options(group[0]["message"])


def format_lines(problems: Sequence[Problem]) -> str:
    numbers = ", ".join(str(problem["line"]) for problem in problems[:MAX_LINES])
    return numbers if len(problems) <= MAX_LINES else f"{numbers} and {len(problems) - MAX_LINES:,} more"


def use_options(message: str) -> str:
    return message.replace("`timezone`", "--timezone")


def format_summary(result: Mapping[str, Any], *, dry_run: bool) -> str:
    if not result["rows"]:
        return "The file has no line that is a post. Nothing was saved."
    invalid = ""
    if result["invalid_rows"]:
        invalid = ", which has errors" if result["rows"] == 1 else f", {result['invalid_rows']:,} of them with errors"
    lines = f"{count_noun(result['rows'], 'line')}{invalid}"
    if dry_run:
        right = "" if result["problems"] else ", no errors"
        return f"{lines}{right}: {count_noun(result['posts'], 'post')} would be scheduled. Nothing was saved."
    existing = f", {result['existing']:,} existed already" if result["existing"] else ""
    planned = f"{count_noun(result['created'], 'post')} {'is' if result['created'] == 1 else 'are'} scheduled"
    return f"{lines}: {planned}{existing}."


def count_noun(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
