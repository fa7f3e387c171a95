"""`postino circuits`: list, open, close and reset circuit breakers."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.content_options import Timezone
from postino.cli.errors import use_option_names
from postino.cli.options import Json, Reason, with_target
from postino.errors import WrongUse

commands = typer.Typer(help="List, open, close and reset circuit breakers.", no_args_is_help=True)
COLUMNS = ("SERVICE", "STATE", "SINCE_AT", "UNTIL_AT", "FAILURES", "TRIPS", "BY", "REASON")
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h|d)")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

Service = Annotated[
    str,
    typer.Argument(
        metavar="SERVICE",
        help="Name of the service: mastodon@example.social, a whole network, openai or another channel.",
        show_default=False,
    ),
]
For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="Keep it open this long: 30s, 10m, 2h or 1d.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Keep it open until then: 2026-03-29T14:30, with or without an offset.",
        show_default=False,
    ),
]


@commands.command("list")
@with_target
def list_circuits(as_json: Json = False, *, target: Target) -> None:
    """List the circuit of every service that has ever failed."""
    with open_api(target) as postino:
        circuits = postino.circuits.list()["data"]
    if as_json:
        output.print_json_list(circuits)
        return
    rows = [
        (it["service"], it["state"], output.parse_instant(it["since_at"]), output.parse_instant(it["until_at"]),
         it["failures"], it["trips"], describe_opener(it), it["reason"])
        for it in circuits
    ]  # fmt: skip
    output.print_table(COLUMNS, rows, empty="No service has ever failed.")


@commands.command("open")
@with_target
def open_circuit(
    service: Service,
    reason: Reason = "",
    duration: For = None,
    until: Until = None,
    timezone: Timezone = None,
    as_json: Json = False,
    *,
    target: Target,
) -> None:
    """Open a circuit, for a time or until you close it.

    Jobs that need it wait without using up attempts.
    """
    if duration is not None and until is not None:
        raise WrongUse("until: use either --for or --until, not both.", field="until")
    seconds = None if duration is None else parse_duration(duration)
    with use_option_names(), open_api(target) as postino:
        circuit = postino.circuits.open(service, reason=reason, until=until, timezone=timezone, seconds=seconds)
    at = output.parse_instant(circuit["until_at"])
    ends = "until you close it" if at is None else f"until {output.format_instant(at)}"
    message = f"is open {ends}. Jobs that need it wait without using up attempts."
    print_circuit(circuit, message, as_json=as_json)
    if not as_json:
        output.print_hint(f"To close it: {target.format_command(f'circuits close {service} --reason WHY')}")


@commands.command("close")
@with_target
def close_circuit(service: Service, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Close a circuit: requests resume at once."""
    with open_api(target) as postino:
        circuit = postino.circuits.close(service, reason=reason)
    print_circuit(circuit, "is closed: requests resume at once.", as_json=as_json)


@commands.command("reset")
@with_target
def reset_circuit(service: Service, reason: Reason = "", as_json: Json = False, *, target: Target) -> None:
    """Close a circuit and forget its failures."""
    with open_api(target) as postino:
        circuit = postino.circuits.reset(service, reason=reason)
    print_circuit(circuit, "is closed and its failures are forgotten.", as_json=as_json)


def print_circuit(circuit: Mapping[str, Any], message: str, *, as_json: bool) -> None:
    output.print_result(circuit, f"The circuit of {circuit['service']} {message}", as_json=as_json)


def describe_opener(circuit: Mapping[str, Any]) -> str | None:
    return None if circuit["state"] == "closed" else "hand" if circuit["manual"] else "failures"


def parse_duration(text: str) -> float:
    match = DURATION.fullmatch(text.strip())
    if match is None:
        raise WrongUse(f"for: {text!r} is not a duration. Use 30s, 10m, 2h or 1d.", field="for")
    return float(match[1]) * SECONDS[match[2]]
