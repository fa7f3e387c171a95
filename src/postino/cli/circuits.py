"""`postino circuits`: which services are left alone because they are in trouble, and a person's word about that."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postino.cli import output
from postino.cli.contents import Timezone, instant_from
from postino.cli.options import DatabaseUrl, DataDir, Json, Reason
from postino.cli.session import Where, actor, perform
from postino.errors import WrongUse
from postino.publishing.shapes import plain_fields

if TYPE_CHECKING:
    from postino.app import App
    from postino.rules.breaker import Breaker

commands = typer.Typer(help="Services in trouble: list, open, close, reset.", no_args_is_help=True)
COLUMNS = ("SERVICE", "STATE", "SINCE_AT", "UNTIL_AT", "FAILURES", "TRIPS", "BY", "REASON")
LENGTH = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h|d)")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DONE = {
    "open": "is left alone {}. What waits for it spends no attempt.",
    "close": "is asked again.",
    "reset": "is asked again, and its troubles are forgotten.",
}

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
def list_circuits(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Every service that was ever in trouble, and whether it is left alone now."""
    breakers = perform(Where(data_dir, database_url), lambda app: app.gatekeeper.circuits())
    if as_json:
        output.as_list([shape_of(breaker) for breaker in breakers])
        return
    rows = [
        (it.service, it.state.value, it.since_at, it.until_at, len(it.failures), it.trips, who(it), it.reason)
        for it in breakers
    ]
    output.table(COLUMNS, rows, empty="No service has been in trouble.")


@commands.command("open")
def open_circuit(
    service: Service,
    reason: Reason = "",
    length: For = None,
    until: Until = None,
    timezone: Timezone = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Leave a service alone, for a time or until it is closed."""
    notes: list[str] = []
    if length is not None and until is not None:
        raise WrongUse("until: give either --for or --until, not both.", field="until")
    ends: dict[str, Any] = {
        "until_at": instant_from(until, timezone, "until", notes),
        "seconds": None if length is None else seconds_from(length),
    }
    change("open", service, reason, Where(data_dir, database_url), as_json=as_json, **ends)
    for note in notes:
        output.hint(note)


@commands.command("close")
def close_circuit(
    service: Service,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Ask a service again at once."""
    change("close", service, reason, Where(data_dir, database_url), as_json=as_json)


@commands.command("reset")
def reset_circuit(
    service: Service,
    reason: Reason = "",
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Ask a service again, as if it had never been in trouble."""
    change("reset", service, reason, Where(data_dir, database_url), as_json=as_json)


def change(deed: str, service: str, reason: str, where: Where, *, as_json: bool, **ends: Any) -> None:
    async def work(app: "App") -> "Breaker":
        change = getattr(app.gatekeeper, f"{deed}_circuit")
        changed: Breaker = await change(service, reason=reason, actor=actor(), **ends)
        return changed

    breaker = perform(where, work)
    if as_json:
        output.as_json(shape_of(breaker))
        return
    until = "until it is closed" if breaker.until_at is None else f"until {output.instant(breaker.until_at)}"
    output.write(f"The service {service} {DONE[deed].format(until)}")
    if deed == "open":
        output.hint(f"This ends it: {where.command(f'circuits close {service} --reason WHY')}")


def who(breaker: "Breaker") -> str | None:
    return None if breaker.state == "closed" else "hand" if breaker.by_hand else "failures"


def shape_of(breaker: "Breaker") -> dict[str, Any]:
    return plain_fields(breaker) | {"failures": len(breaker.failures)}


def seconds_from(text: str) -> float:
    found = LENGTH.fullmatch(text.strip())
    if found is None:
        raise WrongUse(f"for: {text!r} is no length of time: write it like 30s, 10m, 2h or 1d.", field="for")
    return float(found[1]) * SECONDS[found[2]]
