"""The command `postino`: what a person or a script asks of the queue.

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
cli.command("simulate")(forecast.simulate)
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
cli.add_typer(blackouts.commands, name="blackouts")
cli.add_typer(api_keys.commands, name="keys")
cli.add_typer(users.commands, name="users")


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"postino {version('postino')}")
        raise typer.Exit


@cli.callback(help=DESCRIPTION)
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Say which release this is.")
    ] = False,
) -> None:
    """What stands before any command."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a job says must not stop us from showing it
    sys.exit(run(given))


def run(given: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    try:
        check_text(given)
        ended = command()(given, prog_name="postino", standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - whatever it is, a person reads one paragraph and a script a number
        return errors.tell(error, as_json="--json" in given)
    return ended if isinstance(ended, int) else 0


@cache
def command() -> Any:
    """All commands as one: put together once, however often it is asked."""
    return typer.main.get_command(cli)


def check_text(given: Sequence[str]) -> None:
    """Bytes that are no text get as far as this and no further: no store could keep them."""
    for argument in given:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise WrongUse(f"{argument!r} is not valid UTF-8 text.") from None
