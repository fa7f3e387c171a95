"""What a command says when it cannot: one paragraph on stderr, or one JSON object there with `--json`."""

import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from postino.cli.output import end_sentence
from postino.errors import Conflict, PostinoError, WrongUse

FAILED = 1
NO_INTEGER = "Input should be a valid integer, unable to parse string as an integer"
FIELD = re.compile("`([a-z_]+)`")


def tell(error: Exception, *, as_json: bool) -> int:
    """Says it, and returns the exit code."""
    refusal = described(error)
    if as_json:
        sys.stderr.write(json.dumps({"error": refusal}) + "\n")
    elif refusal["message"]:  # none where the help was shown instead
        typer.secho(refusal["message"], err=True, fg="red" if coloured() else None)
    code: int = refusal["exit_code"]
    return code


def described(error: Exception) -> dict[str, Any]:
    """The error as `--json` shows it."""
    match error:
        case PostinoError():
            kind, code, message = snake(type(error).__name__), error.exit_code, str(error)
        case typer.TyperException():
            kind, code, message = "wrong_use", error.exit_code, usage(error)
        case OSError(filename=str(path)):
            kind, code, message = "failed", FAILED, f"{path}: {error.strerror}. Nothing was changed there."
        case OSError():
            kind, code, message = "failed", FAILED, f"The system refused: {error}."
        case _:
            kind, code, message = "bug", FAILED, bug(error)
    return {"type": kind, "message": message, "field": getattr(error, "field", None), "exit_code": code}


@contextmanager
def in_options(**options: str) -> Iterator[None]:
    """What the API calls a field, as it is typed here: `timezone` is --timezone, and some have another name."""
    try:
        yield
    except (WrongUse, Conflict) as refusal:
        said = FIELD.sub(lambda found: "--" + found[1].replace("_", "-"), str(refusal))
        if refusal.field in options:
            said = re.sub(rf"\b{refusal.field}(?=:| is )", options[refusal.field], said, count=1)
            refusal.field = options[refusal.field]
        refusal.args = (said,)
        raise


def usage(error: typer.TyperException) -> str:
    said = error.format_message().replace("Value error, ", "").replace(NO_INTEGER, "it has to be a whole number")
    if getattr(error, "option_name", None) == "--server":
        return "--server: this command needs a database on this machine. Omit it, or run it on the server's machine."
    context = getattr(error, "ctx", None)
    if context is None or said.startswith("Usage:") or not said:
        return said
    return f"{end_sentence(said)} `{context.command_path} --help` shows what there is."


def bug(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__qualname__}: {error}"
    return f"Postino itself went wrong, at {frame.filename} line {frame.lineno}: {said}. Please report this."


def exit_code(codes: Iterable[int]) -> int:
    """Of several that were refused: their common code, or 1 where they differ."""
    different = {*codes}
    return different.pop() if len(different) == 1 else FAILED


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def coloured() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
