"""Options that several commands share, and how what is typed becomes a value."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from postino.cli.connection import KEY, SERVER, Target
from postino.errors import WrongUse

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Directory of postino.db and postino.toml. [env: POSTINO_DATA_DIR]", show_default=False
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
Server = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", help=f"Ask this server instead of a database. [env: {SERVER}]", show_default=False
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--api-key-file", metavar="FILE", help=f"File with the API key of the server. [env: {KEY}, the key]",
        show_default=False,
    ),
]  # fmt: skip
PLACE = {"data_dir": DataDir, "database_url": DatabaseUrl, "server": Server, "key_file": KeyFile}
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit trail.", show_default=False)]
RequiredReason = Annotated[str, typer.Option("--reason", help="Why: it stays with the job.", show_default=False)]
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


def with_target(command: Callable[..., None]) -> Callable[..., None]:
    """With the options that say which queue is meant: the command gets them as `where`."""
    named = inspect.signature(command, eval_str=True)
    own = [option for name, option in named.parameters.items() if name not in ("target", "as_json")]
    last = [named.parameters["as_json"]] if "as_json" in named.parameters else []
    kind = inspect.Parameter.KEYWORD_ONLY
    place = [inspect.Parameter(name, kind, default=None, annotation=option) for name, option in PLACE.items()]

    @wraps(command)
    def run(**said: Any) -> None:
        target = Target(**{name: said.pop(name) for name in PLACE})
        command(**said, target=target)

    options = [option.replace(kind=kind) for option in (*own, *place, *last)]
    run.__signature__ = named.replace(parameters=options)  # type: ignore[attr-defined]
    return run


def parse_uuid(text: str, field: str = "id", what: str = "job") -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise WrongUse(
            f"{field}: {text!r} is not a {what}'s id, which looks like 01932c07-5b1e-7cc3-98c4-dc0c0c07398f."
            f" `postino {what}s list` shows them.",
            field=field,
        ) from None


def parse_cursor(text: str | None) -> str | None:
    return None if text is None else str(parse_uuid(text, "before"))


def check_reason(text: str) -> str:
    if not text.strip():
        raise WrongUse("reason: say why; it stays with the job.", field="reason")
    return text


def parse_payload(text: str | None) -> dict[str, Any]:
    """What is to be run instead, if anything is."""
    from postino.engine.job_spec import encode_payload

    if text is None:
        return {}
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise WrongUse(f"payload: not JSON ({error}).", field="payload") from None
    encode_payload(text.encode())
    return {"payload": payload}
