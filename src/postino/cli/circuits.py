"""`postino circuits`: which services are left alone because they are in trouble, and a person's word about that."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.content_options import Timezone
from postino.cli.errors import in_options
from postino.cli.options import Json, Reason, with_target
from postino.errors import WrongUse

commands = typer.Typer(help="Services in trouble: list, open, close, reset.", no_args_is_help=True)
COLUMNS = ("SERVICE", "STATE", "SINCE_AT", "UNTIL_AT", "FAILURES", "TRIPS", "BY", "REASON")
LENGTH = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h|d)")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Service = Annotated[
    str, typer.Argument(metavar="SERVICE", help="A network, openai, or another channel.", show_default=False)
]
For = Annotated[
    str | None, typer.Option("--for", metavar="TIME", help="For so long: 30s, 10m, 2h, 1d.", show_default=False)
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Until 2026-03-29T14:30, or with an offset.", show_default=False),
]


@commands.command("list")
@with_target
def list_circuits(as_json: Json = False, *, target: Target) -> None:
    """Every service that was ever in trouble, and whether it is left alone now."""
    with open_api(target) as postino:
        circuits = postino.circuits.page()["data"]
    if as_json:
        output.print_json_list(circuits)
        return
    rows = [
        (it["service"], it["state"], output.parse_instant(it["since_at"]), output.parse_instant(it["until_at"]),
         it["failures"], it["trips"], who(it), it["reason"])
        for it in circuits
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="No service has been in trouble.")


@commands.command("open")
@with_target
def open_circuit(
    service: Service,
    reason: Reason = "",
    length: For = None,
    until: Until = None,
    timezone: Timezone = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Leave a service alone, for a time or until it is closed."""
    if length is not None and until is not None:
        raise WrongUse("until: give either --for or --until, not both.", field="until")
    seconds = None if length is None else parse_duration(length)
    with in_options(), open_api(target) as postino:
        circuit = postino.circuits.open(service, reason=reason, until=until, timezone=timezone, seconds=seconds)
    at = output.parse_instant(circuit["until_at"])
    ends = "until it is closed" if at is None else f"until {output.format_instant(at)}"
    answer(circuit, f"is left alone {ends}. What waits for it spends no attempt.", as_json=as_json)
    if not as_json:
        output.print_hint(f"This ends it: {target.format_command(f'circuits close {service} --reason WHY')}")


@commands.command("close")
@with_target
def close_circuit(service: Service, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Ask a service again at once."""
    with open_api(target) as postino:
        circuit = postino.circuits.close(service, reason=reason)
    answer(circuit, "is asked again.", as_json=as_json)


@commands.command("reset")
@with_target
def reset_circuit(service: Service, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Ask a service again, as if it had never been in trouble."""
    with open_api(target) as postino:
        circuit = postino.circuits.reset(service, reason=reason)
    answer(circuit, "is asked again, and its troubles are forgotten.", as_json=as_json)


def answer(circuit: Mapping[str, Any], said: str, *, as_json: bool) -> None:
    output.print_result(circuit, f"The service {circuit['service']} {said}", as_json=as_json)


def who(circuit: Mapping[str, Any]) -> str | None:
    return None if circuit["state"] == "closed" else "hand" if circuit["by_hand"] else "failures"


def parse_duration(text: str) -> float:
    found = LENGTH.fullmatch(text.strip())
    if found is None:
        raise WrongUse(f"for: {text!r} is no length of time: write it like 30s, 10m, 2h or 1d.", field="for")
    return float(found[1]) * SECONDS[found[2]]
