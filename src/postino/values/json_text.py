"""Parse JSON of strangers to what Postino can store: neither too deep, nor with infinite numbers or NUL."""

import json
import math
import re
from typing import Any, NoReturn

from postino.values.text import INVALID_CHARACTERS

MAX_DEPTH = 100
MAX_PARTS = 50_000  # lists and objects; parsing takes the event loop, and a list of 40 statuses has some thousand
INVALID_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")  # or a half of a pair, which is valid

STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
TO_SQUARE = bytes.maketrans(b"{}", b"[]")
OTHERS = bytes({*range(256)} - {*b"[]{}"})


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises ValueError if it is not JSON, too deep, has too many parts, or a number without limit.
    """
    parts = text.count(b"[") + text.count(b"{")
    if parts > MAX_PARTS:
        raise ValueError("The JSON has too many lists and objects.")
    try:
        value = json.loads(text.decode("utf-8-sig"), parse_constant=refuse_constant, parse_float=parse_finite)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    if parts > MAX_DEPTH and is_deep(text):
        raise ValueError("The JSON is nested too deeply.")
    return replace_invalid(value) if INVALID_ESCAPE.search(text) else value


def replace_invalid(value: Any) -> Any:
    """Return the value with U+FFFD in place of characters that no database stores."""
    match value:
        case str():
            return INVALID_CHARACTERS.sub("\ufffd", value)
        case list():
            return [replace_invalid(part) for part in value]
        case dict():
            return {replace_invalid(name): replace_invalid(part) for name, part in value.items()}
    return value


def is_deep(text: bytes) -> bool:
    """Return whether a valid JSON text has more than MAX_DEPTH levels. Faster than a walk through its value."""
    brackets = STRING.sub(b"", text).translate(TO_SQUARE, OTHERS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")  # the innermost level of each branch
    return bool(brackets)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number.")


def parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("A number is too large.")
    return number
