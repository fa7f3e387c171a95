"""`postino keys`: programs' ways into the API. A key is shown once, when it is made."""

from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason, uuid_from
from postino.cli.session import Where, actor, perform, perform_closed
from postino.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from postino.people import ApiKey
    from postino.wiring import Postino

commands = typer.Typer(help="Programs' keys to the API: add, list, remove.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "KEY", "ROLE", "BRANDS", "LAST_USED_AT", "EXPIRES_AT", "CREATED_BY")
AT_A_TIME = 200

Role = Annotated[str, typer.Option("--role", help="owner, editor or viewer.", show_default=False)]
Brands = Annotated[
    list[str] | None, typer.Option("--brand", help="Only this brand; may be said several times.", show_default=False)
]


@commands.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    role: Role,
    brands: Brands = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="Until when, such as 2027-01-31T00:00Z.", show_default=False),
    ] = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Make a key, and show it: this once."""
    from postino.publishing.people import of_key, role_named
    from postino.store import Act

    wanted = role_named(role)
    expires_at = None if expires is None else instant_from(expires)

    async def work(app: "Postino") -> "tuple[ApiKey, str]":
        await app.open()
        by = Act(actor(), reason)
        return await app.people.add_key(name, wanted, brands=brands, expires_at=expires_at, act=by)

    made, text = perform_closed(Where(data_dir, database_url), work)
    if as_json:
        output.as_json(of_key(made) | {"key": text})
    else:
        output.write(text)
        output.hint(f"This is the key {made.name!r}. It is shown this once: keep it where only that program reads it.")


@commands.command("list")
def list_keys(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Which keys there are, each by its beginning."""
    from postino.publishing.people import of_key

    found = perform(Where(data_dir, database_url), every_key)
    if as_json:
        output.as_list([of_key(key) for key in found])
        return
    rows = [
        (
            str(key.id), key.name, f"{key.prefix}…", key.role.value, brands_text(key.brands), key.last_used_at,
            key.expires_at, key.created_by,
        )
        for key in found
    ]  # fmt: skip
    output.table(COLUMNS, rows, empty="There are no keys but the first, which is in api.key.")


async def every_key(app: "Postino") -> "Sequence[ApiKey]":
    found: list[ApiKey] = []
    while some := await app.store.api_keys(found[-1].id if found else None, AT_A_TIME):
        found += some
    return found


@commands.command("remove")
def remove(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.", show_default=False)],
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Let it in no more, from the next request on."""
    from postino.publishing.people import of_key
    from postino.store import Act

    wanted = uuid_from(key_id, "id", "key")
    by = Act(actor(), reason)
    removed = perform(Where(data_dir, database_url), lambda app: app.store.remove_api_key(wanted, by))
    if as_json:
        output.as_json(of_key(removed))
    else:
        output.write(f"The key {removed.name!r} lets nobody in any more.")


def instant_from(text: str) -> "datetime":
    from postino.rules.localtime import parse_at

    try:
        return parse_at(text, None).at
    except WrongUse as error:
        raise WrongUse(f"expires: {error}", "expires") from error


def brands_text(brands: frozenset[str] | None) -> str:
    return "all" if brands is None else ", ".join(sorted(brands))
