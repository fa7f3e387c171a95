"""`postino users`: people who may sign in. Passwords come by prompt or standard input, and are never shown."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.api_keys import Brands, Role, brands_text
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, Reason, with_target
from postino.cli.ports import DEFAULT_PORT, LOOPBACK
from postino.errors import NotFound

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi
    from postino.client.types.auth import UserView

commands = typer.Typer(help="People who may sign in: add, list, password, link, remove.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "ROLE", "BRANDS", "PASSWORD", "CREATED_AT", "CREATED_BY")
OWNER = "owner"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Their name.", show_default=False)]


@commands.command("add")
@with_target
def add(
    name: Name,
    role: Role,
    brands: Brands = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="They come in by links only: `postino users link`.")
    ] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Add a person. The password is asked for, or read from standard input."""
    from postino.auth.validation import check_user_name, parse_role

    check_user_name(name)
    wanted = parse_role(role).value
    password = None if no_password else read_password()
    with open_api(target, new=True) as postino:
        user = postino.users.add(name, wanted, password=password, brands=brands, reason=reason)
    output.print_result(user, f"{user['name']} may sign in, with the role {user['role']}.", as_json=as_json)


@commands.command("list")
@with_target
def list_users(as_json: Json = False, *, target: Target) -> None:
    """Who may sign in."""
    with open_api(target) as postino:
        found = [*postino.users.each()]
    if as_json:
        output.print_json_list(found)
        return
    rows = [
        (it["id"], it["name"], it["role"], brands_text(it["brands"]), "yes" if it["has_password"] else "no",
         output.parse_instant(it["created_at"]), it["created_by"])
        for it in found
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no users yet.")


@commands.command("password")
@with_target
def password(name: Name, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Give them another password; they are signed out everywhere."""
    said = read_password()
    with open_api(target) as postino:
        user = postino.users.change(named(postino, name)["id"], password=said, reason=reason)
    output.print_result(user, f"{user['name']} has another password, and is signed out everywhere.", as_json=as_json)


@commands.command("link")
@with_target
def link(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Their name.")] = OWNER,
    url: Annotated[
        str | None,
        typer.Option("--url", help="URL of the API, if not at the server or the usual address.", show_default=False),
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Show a link that signs them in, once, within ten minutes."""
    base = url or target.server_url() or f"http://{LOOPBACK}:{DEFAULT_PORT}"
    with open_api(target) as postino:
        user = named(postino, name, first=name == OWNER)
        address = base.rstrip("/") + postino.users.link(user["id"], reason=reason)["path"]
    output.print_result({"name": user["name"], "url": address}, address, as_json=as_json)


@commands.command("remove")
@with_target
def remove(name: Name, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Let them in no more; they are signed out at once."""
    with open_api(target) as postino:
        user = postino.users.remove(named(postino, name)["id"], reason=reason)
    output.print_result(user, f"{user['name']} is removed, and signed out.", as_json=as_json)


def named(postino: "QueueApi", name: str, *, first: bool = False) -> "UserView":
    """Whoever has this name, however it is written; the first owner is made, without a password."""
    from postino.auth.validation import normalize_name

    found = next((user for user in postino.users.each() if user["name"] == normalize_name(name)), None)
    if found is None and not first:
        raise NotFound(f"User {name} does not exist. Run `postino users list` to see all users.")
    return found or postino.users.add(name, OWNER)


def read_password() -> str:
    """Twice from a person, so that they can type it again; one line from a pipe."""
    if sys.stdin.isatty():
        typed: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")
