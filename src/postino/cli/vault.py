"""`postino vault`: the keys to the credentials."""

from typing import TYPE_CHECKING

import typer

from postino.cli import output
from postino.cli.connection import Target, audit_actor, run_on_database
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason

if TYPE_CHECKING:
    from postino.wiring import Postino

commands = typer.Typer(help="Replace lost vault keys.", no_args_is_help=True)


@commands.callback()
def vault() -> None:
    """The keys to the credentials: reset."""


@commands.command("reset")
def reset(reason: Reason, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Give up lost vault keys, and use the key of this machine.

    Accounts whose credentials it does not open must be reconnected, and API keys created anew.
    """

    async def replace(app: "Postino") -> list[str]:
        from postino.stores.records import AuditContext

        await app.open()
        await app.vault_keys.replace(AuditContext(audit_actor(), reason))
        return await app.accounts.lock_unreadable()

    locked = run_on_database(Target(data_dir, database_url), replace)
    if as_json:
        output.print_json({"locked": locked})
        return
    output.print_line("This database now uses the vault key of this machine.")
    for account in locked:
        output.print_line(f"locked {account}: run `postino accounts reconnect {account}`, with `--base-url` if it asks")
