"""`postino accounts`: who publishes. Credentials come by prompt or file, are sealed at once and never shown."""

from pathlib import Path
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, with_target

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
@with_target
def list_accounts(as_json: Json = False, *, target: Target) -> None:
    """All accounts, and whether they can publish."""
    with open_api(target) as postino:
        accounts = postino.accounts.page()["data"]
    if as_json:
        output.print_json_list(accounts)
        return
    rows = [
        (it["id"], it["network"], it["handle"], it["state"], it["brand"], it["reason"])
        for it in accounts
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no accounts yet.")


@commands.command("add")
@with_target
def add(
    network: Annotated[str, typer.Argument(metavar="NETWORK", help="bluesky, telegram …", show_default=False)],
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="What it is called there.", show_default=False)],
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help="Its server, target the network has many.", show_default=False),
    ] = None,
    brand: Annotated[str | None, typer.Option("--brand", help="Whose it is.", show_default=False)] = None,
    remote_id: Annotated[
        str | None, typer.Option("--remote-id", help="What the network calls it by.", show_default=False)
    ] = None,
    credentials: CredentialsFile = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Add an account, or connect a known one anew."""
    from postino.cli.credentials import read_credentials

    told, account_id = read_credentials(network, credentials, target), f"{network}:{handle}"
    with open_api(target, new=True) as postino:
        if any(known["id"] == account_id for known in postino.accounts.page(network=network)["data"]):
            account = postino.accounts.reconnect(account_id, told, base_url=base_url, brand=brand, remote_id=remote_id)
        else:
            account = postino.accounts.add(network, handle, told, base_url=base_url, brand=brand, remote_id=remote_id)
    output.print_result(account, f"Account {account_id} is saved. {not_checked(account_id, target)}", as_json=as_json)


@commands.command("check")
@with_target
def check(account: AccountId, as_json: Json = False, *, target: Target) -> None:
    """Ask its network whether it takes the account's credentials. Refused, its posts wait; taken again, they go."""
    with open_api(target) as postino:
        checked = postino.accounts.check(account)
    output.print_result(checked, f"{account}: {checked['message']}", as_json=as_json)
    if checked["works"] is not True:
        raise typer.Exit(1)


@commands.command("reconnect")
@with_target
def reconnect(
    account: AccountId,
    credentials: CredentialsFile = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Give a known account new credentials: what waited for them goes out."""
    from postino.cli.credentials import read_credentials

    with open_api(target) as postino:
        known = postino.accounts.get(account)
        told = read_credentials(known["network"], credentials, target)
        again = postino.accounts.reconnect(account, told, reason=reason)
    done = f"Account {account} has new credentials, and what waited for them goes out."
    output.print_result(again, f"{done} {not_checked(account, target)}", as_json=as_json)


def not_checked(account: str, target: Target) -> str:
    return f"Run `{target.format_command(f'accounts check {account}')}` to check the credentials with the network."
