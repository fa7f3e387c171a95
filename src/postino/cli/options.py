"""Options that several commands share, and how what is typed becomes a value."""

import json
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from postino.errors import WrongUse

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Where postino.db and postino.toml are. [env: POSTINO_DATA_DIR]", show_default=False
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="sqlite:///path or postgresql://… [env: POSTINO_DATABASE_URL]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit trail.", show_default=False)]
NeededReason = Annotated[str, typer.Option("--reason", help="Why: it stays with the job.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")]
Before = Annotated[
    str | None,
    typer.Option("--before", metavar="CURSOR", help="Go on after this id, told below a list.", show_default=False),
]
JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]
Type = Annotated[str | None, typer.Option("--type", help="Only jobs of this type.", show_default=False)]
Channel = Annotated[str | None, typer.Option("--channel", help="Only this channel.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Even what must fail again unless something else changed.")]
Payload = Annotated[
    str | None, typer.Option("--payload", metavar="JSON", help="Run it with this instead.", show_default=False)
]


def uuid_from(text: str, field: str = "id", what: str = "job") -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise WrongUse(
            f"{field}: {text!r} is not a {what}'s id, which looks like 01932c07-5b1e-7cc3-98c4-dc0c0c07398f."
            f" `postino {what}s list` shows them.",
            field=field,
        ) from None


def cursor_from(text: str | None) -> UUID | None:
    return None if text is None else uuid_from(text, "before")


def reason_from(text: str) -> str:
    if not text.strip():
        raise WrongUse("reason: say why; it stays with the job.", field="reason")
    return text


def payload_from(text: str | None) -> bytes | None:
    """The JSON as typed, checked but byte for byte."""
    if text is None:
        return None
    try:
        json.loads(text)
    except ValueError as error:
        raise WrongUse(f"payload: not JSON ({error}).", field="payload") from None
    return text.encode()
