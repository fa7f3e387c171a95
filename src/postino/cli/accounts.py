"""`postino accounts`: manage accounts. Credentials come from a prompt, a file or standard input, never from options."""

from pathlib import Path
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, with_target

commands = typer.Typer(help="Add, list, check and reconnect accounts.", no_args_is_help=True)
AccountId = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="Id of the account, as `accounts list` prints it.", show_default=False)
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", help="Server of the account, for networks with several.", show_default=False),
]
CredentialsFile = Annotated[
    Path | None,
    typer.Option(
        "--credentials",
        metavar="FILE",
        help="JSON file with the credentials. Default: prompt, or read standard input.",
        show_default=False,
    ),
]
COLUMNS = ("ID", "NETWORK", "HANDLE", "STATE", "BRAND", "REASON")


@commands.command("list")
@with_target
def list_accounts(as_json: Json = False, *, target: Target) -> None:
    """List all accounts with their state."""
    with open_api(target) as postino:
        accounts = postino.accounts.list()["data"]
    if as_json:
        output.print_json_list(accounts)
        return
    rows = [
        (it["id"], it["network"], it["handle"], it["state"], it["brand"], it["reason"])
        for it in accounts
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no accounts.")


@commands.command("add")
@with_target
def add(
    network: Annotated[
        str, typer.Argument(metavar="NETWORK", help="Name of the network, such as bluesky.", show_default=False)
    ],
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="Handle on the network.", show_default=False)],
    base_url: BaseUrl = None,
    brand: Annotated[
        str | None, typer.Option("--brand", help="Brand that the account belongs to.", show_default=False)
    ] = None,
    remote_id: Annotated[
        str | None, typer.Option("--remote-id", help="Id of the account on the network.", show_default=False)
    ] = None,
    credentials: CredentialsFile = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Add an account, or reconnect an existing one."""
    from postino.cli.credentials import read_credentials

    secrets, account_id = read_credentials(network, credentials, target), f"{network}:{handle}"
    with open_api(target, new=True) as postino:
        if any(item["id"] == account_id for item in postino.accounts.list(network=network)["data"]):
            account = postino.accounts.reconnect(
                account_id, secrets, base_url=base_url, brand=brand, remote_id=remote_id
            )
        else:
            account = postino.accounts.add(
                network, handle, secrets, base_url=base_url, brand=brand, remote_id=remote_id
            )
    output.print_result(account, f"Account {account_id} is saved. {suggest_check(account_id, target)}", as_json=as_json)


@commands.command("check")
@with_target
def check(account: AccountId, as_json: Json = False, *, target: Target) -> None:
    """Check the credentials of an account with its network."""
    with open_api(target) as postino:
        checked = postino.accounts.check(account)
    output.print_result(checked, f"{account}: {checked['message']}", as_json=as_json)
    if checked["works"] is not True:
        raise typer.Exit(1)


@commands.command("reconnect")
@with_target
def reconnect(
    account: AccountId,
    base_url: BaseUrl = None,
    credentials: CredentialsFile = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Replace the credentials of an account.

    Posts that waited for them go out.
    """
    from postino.cli.credentials import read_credentials

    with open_api(target) as postino:
        network = postino.accounts.get(account)["network"]
        secrets = read_credentials(network, credentials, target)
        updated = postino.accounts.reconnect(account, secrets, base_url=base_url, reason=reason)
    message = f"Account {account} has new credentials. Posts that waited for them go out."
    output.print_result(updated, f"{message} {suggest_check(account, target)}", as_json=as_json)


@commands.command("resume")
@with_target
def resume(account: AccountId, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Publish the posts of a paused or suspended account again.

    Use it when the network has lifted the suspension and the credentials are still valid.
    """
    with open_api(target) as postino:
        updated = postino.accounts.resume(account, reason=reason)
    output.print_result(updated, f"Account {account} is active. Posts that waited go out.", as_json=as_json)


def suggest_check(account: str, target: Target) -> str:
    return f"Run `{target.format_command(f'accounts check {account}')}` to check the credentials with the network."
