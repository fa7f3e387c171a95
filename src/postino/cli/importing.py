"""`postino posts import`: posts from a CSV file. It is checked first, and told what is wrong with which line."""

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.contents import Timezone
from postino.cli.options import Json, placed
from postino.cli.progress import EVERY, WORTH_TELLING, Teller
from postino.cli.refusals import in_options
from postino.cli.session import Where, house
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.cli.session import House
    from postino.client.house_shapes import Import

COLUMNS = ("LINE", "COLUMN", "VALUE", "SEVERITY", "MESSAGE")
File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV; - reads it from standard input.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is wrong with it; save nothing.")]


@placed
def import_posts(
    file: File, timezone: Timezone = None, dry_run: DryRun = False, as_json: Json = False, *, where: Where
) -> None:
    """Plan the posts of a CSV file with the columns text, accounts and at. What is wrong is told, the rest is saved."""
    content = read(file)
    with in_options(), house(where) as postino:
        told = postino.imports.check(content, timezone=timezone)
        if not dry_run:
            told = saved(postino, told, where)
    if as_json:
        output.as_json(told)
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


def saved(postino: "House", checked: "Import", where: Where) -> "Import":
    """Where it takes long and somebody waits, another one saves, and this one looks how far that is."""

    def save() -> "Import":
        with house(where) as other:
            return other.imports.save(checked["token"])

    if checked["rows"] < WORTH_TELLING or not sys.stderr.isatty():
        return postino.imports.save(checked["token"])
    teller = Teller("lines are saved")
    with ThreadPoolExecutor(1) as another:
        saving = another.submit(save)
        while not wait_for([saving], EVERY).done:
            teller.tell(postino.imports.get(checked["id"])["looked"], checked["rows"])
        teller.clear()
        return saving.result()


def show(told: Mapping[str, Any], *, dry_run: bool) -> None:
    faults = [tuple(it[name.lower()] for name in COLUMNS) for it in told["faults"]]
    if faults:
        output.table(COLUMNS, faults)
    if told["more_faults"]:
        output.write(f"And {told['more_faults']:,} more.")
    bad = f", {told['bad']:,} of them with faults" if told["bad"] else ""
    lines = f"{told['rows']:,} {'line' if told['rows'] == 1 else 'lines'}{bad}"
    if dry_run:
        output.write(f"{lines}. Nothing was saved.")
    else:
        known = f", {told['known']:,} were known already" if told["known"] else ""
        output.write(f"{lines}: {told['created']:,} posts are planned{known}.")
