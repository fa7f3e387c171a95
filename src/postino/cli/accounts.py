"""`postino accounts`: who publishes. Credentials come by prompt or file, are sealed at once and never shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.session import Where, actor, perform, perform_closed
from postino.engine.deeds import act
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.post import StoredAccount
    from postino.wiring import Postino

commands = typer.Typer(help="Who publishes: add, list, check, reconnect.", no_args_is_help=True)
AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Its id, as in `accounts list`.", show_default=False)]
CredentialsFile = Annotated[
    Path | None,
    typer.Option(
        "--credentials",
        metavar="FILE",
        help="A JSON object of them; without it they are asked for, or read from standard input.",
        show_default=False,
    ),
]
COLUMNS = ("ID", "NETWORK", "HANDLE", "STATE", "BRAND", "REASON")


@commands.command("list")
def list_accounts(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """All accounts, and whether they can publish."""
    from postino.publishing import shapes

    async def read(app: "Postino") -> "Sequence[StoredAccount]":
        return await app.store.accounts()

    accounts = perform(Where(data_dir, database_url), read)
    if as_json:
        output.as_list([shapes.of_account(account) for account in accounts])
        return
    rows = [(it.id, it.network, it.handle, it.state.value, it.brand, it.reason) for it in accounts]
    output.table(COLUMNS, rows, empty="There are no accounts yet.")


@commands.command("add")
def add(
    network: Annotated[str, typer.Argument(metavar="NETWORK", help="bluesky, telegram …", show_default=False)],
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="What it is called there.", show_default=False)],
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help="Its server, where the network has many.", show_default=False),
    ] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Whose it is.", show_default=False)] = None,
    remote_id: Annotated[
        str | None, typer.Option("--remote-id", help="What the network calls it by.", show_default=False)
    ] = None,
    credentials: CredentialsFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Add an account, or connect a known one anew."""
    from postino.cli.credentials import credentials_from
    from postino.publishing import shapes
    from postino.wiring import needed_of

    if base_url is not None and not base_url.startswith(("https://", "http://")):
        raise WrongUse("base-url: must begin with https:// or http://.", field="base_url")
    where = Where(data_dir, database_url)
    told = credentials_from(network, handle, credentials, needed_of(where.config()))

    async def work(app: "Postino") -> "StoredAccount":
        await app.open()
        return await app.accounts.add(
            network, handle, told, base_url=base_url, brand=brand, remote_id=remote_id or told.get("chat_id")
        )

    account = perform_closed(where, work)
    if as_json:
        output.as_json(shapes.of_account(account))
    else:
        output.write(f"Account {account.id} is connected. Try it: postino post \"Hello\" --to {account.id}")


@commands.command("check")
def check(
    account: AccountId, data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False
) -> None:
    """Ask its network whether it takes the account's credentials. Refused, its posts wait; taken again, they go."""
    from postino.publishing import shapes
    from postino.wiring import check_account

    checked = perform(Where(data_dir, database_url), lambda app: check_account(app, account, act(actor(), "checked")))
    if as_json:
        told = {"works": checked.works, "message": checked.message, "account": shapes.of_account(checked.account)}
        output.as_json(told)
    else:
        output.write(f"{account}: {checked.message}")
    if checked.works is not True:
        raise typer.Exit(1)


@commands.command("reconnect")
def reconnect(
    account: AccountId,
    credentials: CredentialsFile = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Give a known account new credentials: what waited for them goes out."""
    from postino.cli.credentials import credentials_from
    from postino.publishing import shapes
    from postino.wiring import needed_of

    where = Where(data_dir, database_url)
    known = perform(where, lambda app: app.store.account(account))
    told = credentials_from(known.network, known.handle, credentials, needed_of(where.config()))

    async def work(app: "Postino") -> "StoredAccount":
        remote_id = told.get("chat_id")
        again = await app.accounts.add(
            known.network, known.handle, told, remote_id=remote_id, act=act(actor(), reason)
        )
        app.wakeup.tell()
        return again

    done = perform(where, work)
    if as_json:
        output.as_json(shapes.of_account(done))
    else:
        output.write(f"Account {done.id} is connected again. What waited for it goes out.")
