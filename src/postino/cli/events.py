"""`postino events`: print events as they happen. Needs a server."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from postino.cli import output
from postino.cli.connection import Target, open_api
from postino.cli.options import Json, with_target

OfTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--type", "--types", help="Only events of this type; may be repeated or hold several, with commas.",
        show_default=False,
    ),
]  # fmt: skip
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Start after this event.", show_default=False)]
MAX_VALUE = 200  # characters


@with_target
def events(types: OfTypes = None, after: After = None, as_json: Json = False, *, target: Target) -> None:
    """Print events as they happen, one per line, until Ctrl-C.

    Needs a server.
    """
    from postino.client import ApiUnavailable

    names = tuple(name for text in types or () for name in text.split(","))
    with open_api(target) as postino:
        if not as_json and target.server_url() is not None:
            output.print_hint(f"Waiting for events of {target.server_url()}. Press Ctrl-C to stop.")
        try:
            for event in postino.events(types=names or None, after=after):
                after = event["id"]
                if as_json:
                    output.print_json_line(event)
                else:
                    output.print_line(format_event(event))
        except ApiUnavailable as error:
            raise ApiUnavailable(f"{describe_loss(error)} {suggest_resume(after, target)}") from error


def describe_loss(error: Exception) -> str:
    return f"The event stream ended: {str(error).removesuffix(' Nothing was changed.')}"


def suggest_resume(after: str | None, target: Target) -> str:
    words = "events" if after is None else f"events --after {after}"
    return f"Run `{target.format_command(words)}` to continue when the server is back."


def format_event(event: Mapping[str, Any]) -> str:
    """Format time, id, type, jobs and brand of an event, then its other fields."""
    data = event["data"] if isinstance(event["data"], dict) else {}
    jobs = [event["job_id"]] if event["job_id"] is not None else [str(job) for job in data.get("jobs") or ()]
    about = (output.parse_instant(event["at"]), event["id"], event["type"], " ".join(jobs) or None, event["brand"])
    more = (f"{name}={shorten(value)}" for name, value in data.items() if name != "jobs" and value not in (None, ""))
    return "  ".join((*map(output.format_cell, about), " ".join(more))).rstrip()


def shorten(value: object) -> str:
    text = output.collapse_whitespace(str(value))
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
