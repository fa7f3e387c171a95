"""`postino keys`: manage API keys. Only `keys add` prints a key."""

from collections.abc import Sequence
from typing import Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.errors import use_option_names
from postino.cli.options import Json, Reason, parse_uuid, with_target

commands = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)
COLUMNS = ("ID", "NAME", "KEY", "ROLE", "BRANDS", "JOB_TYPES", "LAST_USED_AT", "EXPIRES_AT", "CREATED_BY")

Role = Annotated[str, typer.Option("--role", help="Role: owner, editor or viewer.", show_default=False)]
Brands = Annotated[
    list[str] | None, typer.Option("--brand", help="Limit access to this brand; may be repeated.", show_default=False)
]


@commands.command("add")
@with_target
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.", show_default=False)],
    role: Role,
    brands: Brands = None,
    job_types: Annotated[
        list[str] | None,
        typer.Option(
            "--job-type",
            metavar="TYPE",
            help="Allow the key to queue jobs of this type; may be repeated.",
            show_default=False,
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="TIME", help="When the key expires, such as 2027-01-31T00:00Z.", show_default=False
        ),
    ] = None,
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Create an API key and print it once."""
    with use_option_names(expires_at="expires", job_types="job-type"), open_api(target, new=True) as postino:
        created = postino.api_keys.add(
            name, role, brands=brands, job_types=job_types, expires_at=expires, reason=reason
        )
    output.print_result(created, created["key"], as_json=as_json)
    if not as_json:
        output.print_hint(f"This is the API key {created['name']!r}. Postino never shows it again: store it now.")


@commands.command("list")
@with_target
def list_keys(as_json: Json = False, *, target: Target) -> None:
    """List all API keys by their first characters."""
    with open_api(target) as postino:
        keys = [*postino.api_keys.iterate()]
    if as_json:
        output.print_json_list(keys)
        return
    rows = [
        (it["id"], it["name"], f"{it['prefix']}…", it["role"], format_brands(it["brands"]),
         "all" if it["job_types"] is None else ", ".join(it["job_types"]) or "none",
         output.parse_instant(it["last_used_at"]), output.parse_instant(it["expires_at"]), it["created_by"])
        for it in keys
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="There are no API keys besides the first, which is in api.key.")


@commands.command("remove")
@with_target
def remove(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.", show_default=False)],
    reason: Reason = "",
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Revoke an API key immediately."""
    checked = parse_uuid(key_id, "id", "key")
    with open_api(target) as postino:
        removed = postino.api_keys.remove(checked, reason=reason)
    output.print_result(removed, f"Revoked API key {removed['name']!r}.", as_json=as_json)


def format_brands(brands: Sequence[str] | None) -> str:
    return "all" if brands is None else ", ".join(sorted(brands))
