"""`postino events`: what happens, as it happens. A server tells it."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, with_target

OfTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--type", "--types", help="Only this type of event; may be repeated, or several with commas.",
        show_default=False,
    ),
]  # fmt: skip
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Go on after this event.", show_default=False)]
LONGEST = 200  # of one thing that an event tells


@with_target
def events(types: OfTypes = None, after: After = None, as_json: Json = False, *, target: Target) -> None:
    """What happens, a line each, until Ctrl-C: from now on, or after an event. It takes a server."""
    from postino.client import ApiUnavailable

    wanted = tuple(name for said in types or () for name in said.split(","))
    with open_api(target) as postino:
        if not as_json and target.server_url() is not None:
            output.print_hint(f"Listening at {target.server_url()}. Ctrl-C ends it.")
        try:
            for event in postino.events(types=wanted or None, after=after):
                after = event["id"]
                if as_json:
                    output.print_json_line(event)
                else:
                    output.print_line(line(event))
        except ApiUnavailable as error:
            raise ApiUnavailable(f"{lost(error)} {going_on(after, target)}") from error


def lost(error: Exception) -> str:
    return f"No more events came: {str(error).removesuffix(' Nothing was changed.')}"


def going_on(after: str | None, target: Target) -> str:
    words = "events" if after is None else f"events --after {after}"
    return f"Run `{target.format_command(words)}` to continue when the server is back."


def line(event: Mapping[str, Any]) -> str:
    """When, its own id, what, to which jobs and brand; then what else it tells."""
    data = event["data"] if isinstance(event["data"], dict) else {}
    jobs = [event["job_id"]] if event["job_id"] is not None else [str(job) for job in data.get("jobs") or ()]
    about = (output.parse_instant(event["at"]), event["id"], event["type"], " ".join(jobs) or None, event["brand"])
    more = (f"{name}={short(value)}" for name, value in data.items() if name != "jobs" and value not in (None, ""))
    return "  ".join((*map(output.format_cell, about), " ".join(more))).rstrip()


def short(value: object) -> str:
    text = output.collapse_whitespace(output.escape_control_characters(str(value)))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
