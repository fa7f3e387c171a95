"""`postino users`: people who may sign in. Passwords come by prompt or standard input, and are never shown."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.keys import AT_A_TIME, Brands, Role, brands_text
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.ports import LOOPBACK, USUAL_PORT
from postino.cli.session import Where, actor, perform, perform_closed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from postino.people import User
    from postino.wiring import Postino

commands = typer.Typer(help="People who may sign in: add, list, password, link, remove.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "ROLE", "BRANDS", "PASSWORD", "CREATED_AT", "CREATED_BY")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Their name.", show_default=False)]


@commands.command("add")
def add(
    name: Name,
    role: Role,
    brands: Brands = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="They come in by links only: `postino users link`.")
    ] = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Add a person. The password is asked for, or read from standard input."""
    from postino.publishing.people import of_user, role_named, user_name
    from postino.store import Act

    user_name(name)
    wanted = role_named(role)
    password = None if no_password else password_from()

    async def work(app: "Postino") -> "User":
        await app.open()
        return await app.people.add_user(name, wanted, password=password, brands=brands, act=Act(actor(), reason))

    user = perform_closed(Where(data_dir, database_url), work)
    if as_json:
        output.as_json(of_user(user))
    else:
        output.write(f"{user.name} may sign in, with the role {user.role.value}.")


@commands.command("list")
def list_users(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Who may sign in."""
    from postino.publishing.people import of_user

    found = perform(Where(data_dir, database_url), every_user)
    if as_json:
        output.as_list([of_user(user) for user in found])
        return
    rows = [
        (
            str(user.id), user.name, user.role.value, brands_text(user.brands), "yes" if user.password else "no",
            user.created_at, user.created_by,
        )
        for user in found
    ]  # fmt: skip
    output.table(COLUMNS, rows, empty="There are no users yet.")


async def every_user(app: "Postino") -> "Sequence[User]":
    found: list[User] = []
    while some := await app.store.users(found[-1].id if found else None, AT_A_TIME):
        found += some
    return found


@commands.command("password")
def password(
    name: Name, reason: Reason = "", data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False
) -> None:
    """Give them another password; they are signed out everywhere."""
    from postino.publishing.people import of_user
    from postino.store import Act

    said = password_from()

    async def work(app: "Postino") -> "User":
        user = await app.people.named(name)
        return await app.people.change_user(user.id, {"password": said}, Act(actor(), reason))

    user = perform(Where(data_dir, database_url), work)
    if as_json:
        output.as_json(of_user(user))
    else:
        output.write(f"{user.name} has another password, and is signed out everywhere.")


@commands.command("link")
def link(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Their name.")] = "owner",
    url: Annotated[str, typer.Option("--url", help="Where the API is.")] = f"http://{LOOPBACK}:{USUAL_PORT}",
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Show a link that signs them in, once, within ten minutes."""
    from postino.publishing.signing_in import OWNER, make_sign_in_link
    from postino.store import Act

    async def work(app: "Postino") -> str:
        user = name if name == OWNER else (await app.people.named(name)).name
        return await make_sign_in_link(app.people, app.signing_in, url, Act(actor(), reason), user)

    address = perform(Where(data_dir, database_url), work)
    if as_json:
        output.as_json({"name": name, "url": address})
    else:
        output.write(address)


@commands.command("remove")
def remove(
    name: Name, reason: Reason = "", data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False
) -> None:
    """Let them in no more; they are signed out at once."""
    from postino.publishing.people import of_user
    from postino.store import Act

    async def work(app: "Postino") -> "User":
        user = await app.people.named(name)
        return await app.store.remove_user(user.id, Act(actor(), reason))

    user = perform(Where(data_dir, database_url), work)
    if as_json:
        output.as_json(of_user(user))
    else:
        output.write(f"{user.name} is removed, and signed out.")


def password_from() -> str:
    """Twice from a person, so that they can type it again; one line from a pipe."""
    if sys.stdin.isatty():
        typed: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")
