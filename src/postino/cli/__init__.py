"""The `postino` command line.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 not found, 4 conflict, 5 store or server unreachable.
"""

import io
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

from postino.cli import (
    accounts,
    api_keys,
    audit,
    blackouts,
    circuits,
    database,
    dead_letters,
    errors,
    events,
    forecast,
    jobs,
    post,
    posts,
    queues,
    sandbox,
    server,
    up,
    users,
    vault,
    worker,
)
from postino.errors import WrongUse

DESCRIPTION = "A social-media publishing queue that never posts twice, never loses a post and never fails silently."

cli = typer.Typer(
    help=DESCRIPTION,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cli.command("up")(up.run_up)
cli.command("post")(post.post)
cli.command("server")(server.run_server)
cli.command("worker")(worker.run_worker)
cli.command("sandbox")(sandbox.run_sandbox)
cli.command("forecast")(forecast.show_forecast)
cli.command("events")(events.events)
cli.command("migrate")(database.migrate)
cli.command("dispatch-due")(database.dispatch_due)
cli.command("publishing:dispatch-due", hidden=True)(database.dispatch_due)
cli.add_typer(posts.commands, name="posts")
cli.add_typer(accounts.commands, name="accounts")
cli.add_typer(jobs.commands, name="jobs")
cli.add_typer(dead_letters.commands, name="dead")
cli.add_typer(queues.commands, name="queues")
cli.add_typer(circuits.commands, name="circuits")
cli.add_typer(database.commands, name="database")
cli.add_typer(blackouts.commands, name="blackouts")
cli.add_typer(api_keys.commands, name="keys")
cli.add_typer(users.commands, name="users")
cli.add_typer(audit.commands, name="audit")
cli.add_typer(vault.commands, name="vault")


def show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"postino {version('postino')}")
        raise typer.Exit


@cli.callback(help=DESCRIPTION)
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    words = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for characters that the terminal cannot show
    sys.exit(run(words))


def run(words: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        check_text(words)
        code = command()(words, prog_name="postino", standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - every error becomes one paragraph and an exit code
        return errors.print_error(error, as_json="--json" in words)
    return code if isinstance(code, int) else 0


@cache
def command() -> Any:
    """Build the command tree once."""
    return typer.main.get_command(cli)


def check_text(words: Sequence[str]) -> None:
    """Raise WrongUse for bytes that are not UTF-8, which no database could store."""
    for argument in words:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise WrongUse(f"{argument!r} is not valid UTF-8 text.") from None
