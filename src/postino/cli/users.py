"""`postino users`: manage users. Passwords come from a prompt or standard input, never from options."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.api_keys import Brands, Role, format_brands
from postino.cli.connection import Target, open_api
from postino.cli.errors import use_option_names
from postino.cli.options import Json, Reason, with_target
from postino.cli.ports import LOOPBACK, SERVER_PORT
from postino.errors import NotFound

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi
    from postino.client.types.auth import UserView

commands = typer.Typer(help="Add, list and remove users; change passwords; print sign-in links.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "ROLE", "BRANDS", "PASSWORD", "CREATED_AT", "CREATED_BY")
OWNER_NAME = "owner"  # the name of the first user
OWNER_ROLE = "owner"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.", show_default=False)]


@commands.command("add")
@with_target
def add(
    name: Name,
    role: Role,
    brands: Brands = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="The user signs in only with links from `postino users link`.")
    ] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Add a user.

    The password comes from a prompt or standard input.
    """
    from postino.auth.user_checks import check_user_name, parse_role

    check_user_name(name)
    checked = parse_role(role).value
    password = None if no_password else read_password()
    with open_api(target, new=True) as postino:
        user = postino.users.add(name, checked, password=password, brands=brands, reason=reason)
    output.print_result(user, f"Added user {user['name']} with the role {user['role']}.", as_json=as_json)


@commands.command("list")
@with_target
def list_users(as_json: Json = False, *, target: Target) -> None:
    """List all users."""
    with open_api(target) as postino:
        users = [*postino.users.iterate()]
    if as_json:
        output.print_json_list(users)
        return
    rows = [
        (it["id"], it["name"], it["role"], format_brands(it["brands"]), "yes" if it["has_password"] else "no",
         output.parse_instant(it["created_at"]), it["created_by"])
        for it in users
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no users.")


@commands.command("password")
@with_target
def password(
    name: Name,
    own: Annotated[
        bool, typer.Option("--own", help="Change your own password: asks for the present one first.")
    ] = False,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Change the password of a user and end all their sessions."""
    present = read_password("Present password", confirm=False) if own else None
    new = read_password("New password")
    with use_option_names(new_password="password"), open_api(target) as postino:
        if present is None:
            user = postino.users.change(find_user(postino, name)["id"], password=new, reason=reason)
        else:
            user = postino.users.change_password(name, present, new, reason=reason)
    output.print_result(user, f"Changed the password of {user['name']} and ended all their sessions.", as_json=as_json)


@commands.command("link")
@with_target
def link(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")] = OWNER_NAME,
    url: Annotated[
        str | None,
        typer.Option("--url", help="URL of the API. Default: --server, or http://127.0.0.1:8700.", show_default=False),
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Print a link that signs a user in once, within ten minutes."""
    base = url or target.server_url() or f"http://{LOOPBACK}:{SERVER_PORT}"
    with open_api(target) as postino:
        user = find_user(postino, name, create=name == OWNER_NAME)
        address = base.rstrip("/") + postino.users.link(user["id"], reason=reason)["path"]
    output.print_result({"name": user["name"], "url": address}, address, as_json=as_json)


@commands.command("remove")
@with_target
def remove(name: Name, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Remove a user and end all their sessions."""
    with open_api(target) as postino:
        user = postino.users.remove(find_user(postino, name)["id"], reason=reason)
    output.print_result(user, f"Removed user {user['name']} and ended all their sessions.", as_json=as_json)


def find_user(postino: "QueueApi", name: str, *, create: bool = False) -> "UserView":
    """Return the user with this name. With `create`, add a missing owner without a password."""
    from postino.auth.user_checks import normalize_name

    user = next((user for user in postino.users.iterate() if user["name"] == normalize_name(name)), None)
    if user is None and not create:
        raise NotFound(f"User {name} does not exist. Run `postino users list` to see all users.")
    return user or postino.users.add(name, OWNER_ROLE)


def read_password(prompt: str = "Password", *, confirm: bool = True) -> str:
    """Prompt at a terminal, twice for a new password; read one line from a pipe."""
    if sys.stdin.isatty():
        typed: str = typer.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")
