"""Options that several commands share, and the parsing of their values."""

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
        "--data-dir", help="Directory of the database and settings. Environment: POSTINO_DATA_DIR.", show_default=False
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="Database: sqlite:///path or postgresql://…; environment: POSTINO_DATABASE_URL.",
        show_default=False,
    ),
]
Application = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:ATTR",
        envvar="POSTINO_APP",
        help="Application with your own handlers. Without it, workers only publish posts.",
        show_default=False,
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help=f"Use this server instead of a database. Environment: {SERVER}.",
        show_default=False,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--api-key-file", metavar="FILE", help=f"File with the server's API key. Environment: {KEY} (the key itself).",
        show_default=False,
    ),
]  # fmt: skip
TARGET = {"data_dir": DataDir, "database_url": DatabaseUrl, "server": Server, "key_file": KeyFile}
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, for the audit trail.", show_default=False)]
RequiredReason = Annotated[str, typer.Option("--reason", help="Reason, stored with the job.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of items.")]
Before = Annotated[
    str | None,
    typer.Option(
        "--before", metavar="CURSOR", help="Continue after this id, which the previous page prints.", show_default=False
    ),
]
JobId = Annotated[str, typer.Argument(metavar="ID", help="Id of the job.", show_default=False)]
Type = Annotated[str | None, typer.Option("--type", help="Only jobs of this type.", show_default=False)]
Channel = Annotated[str | None, typer.Option("--channel", help="Only jobs of this channel.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Replay even if the same error is expected.")]
Payload = Annotated[
    str | None,
    typer.Option(
        "--payload", metavar="JSON", help="Run it with this payload instead; not for posts.", show_default=False
    ),
]


def with_target(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the queue. The command receives them as `target`."""
    signature = inspect.signature(command, eval_str=True)
    parameters = signature.parameters
    first = [option for name, option in parameters.items() if name not in ("target", "as_json")]
    last = [parameters["as_json"]] if "as_json" in parameters else []
    kind = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(name, kind, default=None, annotation=option) for name, option in TARGET.items()]

    @wraps(command)
    def run(**values: Any) -> None:
        target = Target(**{name: values.pop(name) for name in TARGET})
        command(**values, target=target)

    options = [option.replace(kind=kind) for option in (*first, *shared, *last)]
    run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    return run


def parse_uuid(text: str, field: str = "id", what: str = "job") -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise WrongUse(
            f"{field}: {text!r} is not the id of a {what}. An id looks like 01932c07-5b1e-7cc3-98c4-dc0c0c07398f."
            f" Run `postino {what}s list` to see all ids.",
            field=field,
        ) from None


def parse_cursor(text: str | None) -> str | None:
    return None if text is None else str(parse_uuid(text, "before"))


def check_reason(text: str) -> str:
    if not text.strip():
        raise WrongUse("reason: must not be empty. It is stored with the job.", field="reason")
    return text


def parse_payload(text: str | None) -> dict[str, Any]:
    """Parse --payload. Return no field if the option is absent."""
    from postino.engine.job_spec import encode_payload

    if text is None:
        return {}
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise WrongUse(f"payload: not valid JSON ({error}).", field="payload") from None
    encode_payload(text.encode())
    return {"payload": payload}
