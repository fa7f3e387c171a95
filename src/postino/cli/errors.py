"""Print errors: one paragraph on stderr, or one JSON object with `--json`."""

import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from postino.cli.output import end_sentence, escape_control_characters
from postino.errors import Conflict, PostinoError, WrongUse

FAILED = 1
NO_INTEGER = "Input should be a valid integer, unable to parse string as an integer"
FIELD = re.compile("`([a-z_]+)`")


def print_error(error: Exception, *, as_json: bool) -> int:
    """Print an error and return its exit code."""
    problem = describe_error(error)
    if as_json:
        sys.stderr.write(json.dumps({"error": problem}) + "\n")
    elif problem["message"]:  # empty if the help was shown instead
        typer.secho(escape_control_characters(problem["message"]), err=True, fg="red" if use_colour() else None)
    code: int = problem["exit_code"]
    return code


def describe_error(error: Exception) -> dict[str, Any]:
    """Return the error object that `--json` prints."""
    match error:
        case PostinoError():
            kind, code, message = to_snake_case(type(error).__name__), error.exit_code, str(error)
        case typer.TyperException():
            kind, code, message = "wrong_use", error.exit_code, describe_usage(error)
        case OSError(filename=str(path)):
            kind, code, message = "failed", FAILED, f"{path}: {error.strerror}. Nothing was changed there."
        case OSError():
            kind, code, message = "failed", FAILED, f"The operating system reported an error: {error}."
        case _:
            kind, code, message = "bug", FAILED, describe_bug(error)
    return {"type": kind, "message": message, "field": getattr(error, "field", None), "exit_code": code}


@contextmanager
def use_option_names(**options: str) -> Iterator[None]:
    """Replace API field names in errors with option names: `timezone` becomes --timezone."""
    try:
        yield
    except (WrongUse, Conflict) as error:
        message = FIELD.sub(lambda match: "--" + match[1].replace("_", "-"), str(error))
        if error.field in options:
            message = re.sub(rf"\b{error.field}(?=:| is )", options[error.field], message, count=1)
            error.field = options[error.field]
        error.args = (message,)
        raise


def describe_usage(error: typer.TyperException) -> str:
    message = error.format_message().replace("Value error, ", "").replace(NO_INTEGER, "expected a whole number")
    if getattr(error, "option_name", None) == "--server":
        return "--server: this command needs a database on this machine. Omit it, or run it on the server's machine."
    context = getattr(error, "ctx", None)
    if context is None or message.startswith("Usage:") or not message:
        return message
    return f"{end_sentence(message)} Run `{context.command_path} --help` for usage."


def describe_bug(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__qualname__}: {error}"
    return f"Internal error at {frame.filename} line {frame.lineno}: {text}. Please report this."


def combine_exit_codes(codes: Iterable[int]) -> int:
    """Return the common exit code of several errors, or 1 if they differ."""
    different = {*codes}
    return different.pop() if len(different) == 1 else FAILED


def to_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def use_colour() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
