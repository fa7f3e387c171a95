"""`postino events`: what happens, as it happens. A server tells it."""

from typing import Annotated

import typer

from postino.cli import output
from postino.cli.options import Json, placed
from postino.cli.session import Where, house

OfTypes = Annotated[
    list[str] | None, typer.Option("--type", help="Only this type of event; may be repeated.", show_default=False)
]
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Go on after this event.", show_default=False)]


@placed
def events(types: OfTypes = None, after: After = None, as_json: Json = False, *, where: Where) -> None:
    """What happens, a line each, until Ctrl-C: from now on, or after an event. It takes a server."""
    with house(where) as postino:
        for event in postino.events(types=tuple(types) if types else None, after=after):
            if as_json:
                output.as_line(event)
            else:
                about = (event["id"], event["type"], event["job_id"], event["brand"])
                output.write("  ".join((output.shown(output.at(event["at"])), *map(output.shown, about))))
