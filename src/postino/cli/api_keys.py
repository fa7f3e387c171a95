"""`postino keys`: programs' ways into the API. A key is shown once, when it is made."""

from collections.abc import Sequence
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.errors import in_options
from postino.cli.options import Json, Reason, parse_uuid, with_target

commands = typer.Typer(help="Programs' keys to the API: add, list, remove.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "KEY", "ROLE", "BRANDS", "LAST_USED_AT", "EXPIRES_AT", "CREATED_BY")

Role = Annotated[str, typer.Option("--role", help="owner, editor or viewer.", show_default=False)]
Brands = Annotated[
    list[str] | None, typer.Option("--brand", help="Only this brand; may be said several times.", show_default=False)
]


@commands.command("add")
@with_target
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    role: Role,
    brands: Brands = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="Until when, such as 2027-01-31T00:00Z.", show_default=False),
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Make a key, and show it: this once."""
    with in_options(expires_at="expires"), open_api(target, new=True) as postino:
        made = postino.api_keys.add(name, role, brands=brands, expires_at=expires, reason=reason)
    output.print_result(made, made["key"], as_json=as_json)
    if not as_json:
        told = "It is shown this once: keep it where only that program reads it."
        output.print_hint(f"This is the key {made['name']!r}. {told}")


@commands.command("list")
@with_target
def list_keys(as_json: Json = False, *, target: Target) -> None:
    """Which keys there are, each by its beginning."""
    with open_api(target) as postino:
        found = [*postino.api_keys.each()]
    if as_json:
        output.print_json_list(found)
        return
    rows = [
        (it["id"], it["name"], f"{it['prefix']}…", it["role"], brands_text(it["brands"]),
         output.parse_instant(it["last_used_at"]), output.parse_instant(it["expires_at"]), it["created_by"])
        for it in found
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no keys but the first, which is in api.key.")


@commands.command("remove")
@with_target
def remove(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Let it in no more, from the next request on."""
    wanted = parse_uuid(key_id, "id", "key")
    with open_api(target) as postino:
        removed = postino.api_keys.remove(wanted, reason=reason)
    output.print_result(removed, f"The key {removed['name']!r} lets nobody in any more.", as_json=as_json)


def brands_text(brands: Sequence[str] | None) -> str:
    return "all" if brands is None else ", ".join(sorted(brands))
