"""`postino events`: what happens, as it happens. A server tells it."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.options import Json, placed
from postino.cli.session import Where, house

OfTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--type", "--types", help="Only this type of event; may be repeated, or several with commas.",
        show_default=False,
    ),
]  # fmt: skip
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Go on after this event.", show_default=False)]
LONGEST = 200  # of one thing that an event tells


@placed
def events(types: OfTypes = None, after: After = None, as_json: Json = False, *, where: Where) -> None:
    """What happens, a line each, until Ctrl-C: from now on, or after an event. It takes a server."""
    from postino.client import ApiUnavailable

    wanted = tuple(name for said in types or () for name in said.split(","))
    with house(where) as postino:
        if not as_json and where.address() is not None:
            output.hint(f"Listening at {where.address()}. Ctrl-C ends it.")
        try:
            for event in postino.events(types=wanted or None, after=after):
                after = event["id"]
                if as_json:
                    output.as_line(event)
                else:
                    output.write(line(event))
        except ApiUnavailable as error:
            raise ApiUnavailable(f"{lost(error)} {going_on(after, where)}") from error


def lost(error: Exception) -> str:
    return f"No more events came: {str(error).removesuffix(' Nothing was changed.')}"


def going_on(after: str | None, where: Where) -> str:
    words = "events" if after is None else f"events --after {after}"
    return f"Once the server is back, `{where.command(words)}` {'listens again' if after is None else 'goes on there'}."


def line(event: Mapping[str, Any]) -> str:
    """When, its own id, what, to which jobs and brand; then what else it tells."""
    data = event["data"] if isinstance(event["data"], dict) else {}
    jobs = [event["job_id"]] if event["job_id"] is not None else [str(job) for job in data.get("jobs") or ()]
    about = (output.at(event["at"]), event["id"], event["type"], " ".join(jobs) or None, event["brand"])
    more = (f"{name}={short(value)}" for name, value in data.items() if name != "jobs" and value not in (None, ""))
    return "  ".join((*map(output.shown, about), " ".join(more))).rstrip()


def short(value: object) -> str:
    text = output.on_one_line(output.printable(str(value)))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
