"""Query parameters: each is declared once with its name, type, bounds and description, and checked like a body."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID

from postino.errors import WrongUse
from postino.values.post import PageCursor
from postino.values.suggestions import suggest_name
from postino.values.text import INVALID_CHARACTERS, INVALID_CHARACTERS_MESSAGE, MAX_QUOTED

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
MIN_LIMIT, DEFAULT_LIMIT, MAX_LIMIT = 1, 50, 200
MAX_SHOWN = 40  # characters of a wrong value in an error
MAX_NUMBER = 2**63 - 1
WHOLE_NUMBER = re.compile("0|[1-9][0-9]{0,18}")
ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Generic[T_co]):
    """One query parameter. `parse` raises WrongUse; `default` is the value of an absent one."""

    name: str
    description: str
    parse: Callable[[str], T_co]
    default: T_co
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


class QueryValues:
    """The parsed query of one request: `query[LIMIT]` is an int."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def __getitem__(self, parameter: Parameter[T]) -> T:
        value: T = self.values.get(parameter.name, parameter.default)
        return value


def parse_query(raw: bytes, parameters: Sequence[Parameter[Any]]) -> QueryValues:
    """Parse a query string. Raises WrongUse for unknown, repeated and invalid parameters."""
    known = {parameter.name: parameter for parameter in parameters}
    values: dict[str, Any] = {}
    # Bytes that are not UTF-8 become unpaired surrogates, so that they are rejected and not replaced.
    for name, text in parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="surrogateescape"):
        if name not in known:
            shown = INVALID_CHARACTERS.sub("\ufffd", name[:MAX_QUOTED])
            raise WrongUse(f"{shown}: there is no such parameter. {suggest_name(name, [*known])}".rstrip(), shown)
        if INVALID_CHARACTERS.search(text):
            raise WrongUse(f"{name} {INVALID_CHARACTERS_MESSAGE}", name)
        if name in values:
            raise WrongUse(f"{name} is given twice. Give it once.", name)
        values[name] = known[name].parse(text)
    return QueryValues(values)


def text_parameter(
    name: str, description: str, *, schema: Mapping[str, Any] | None = None, required: bool = False
) -> Parameter[str | None]:
    return Parameter(name, description, str, None, schema or {"type": "string"}, required)


def choice_parameter(name: str, description: str, choices: Collection[str]) -> Parameter[str | None]:
    return Parameter(name, description, lambda text: parse_choice(name, text, choices), None)


def choices_parameter(name: str, description: str, choices: Collection[str]) -> Parameter[tuple[str, ...]]:
    """Declare a comma-separated list of distinct choices."""
    return Parameter(name, description, lambda text: parse_choices(name, text, choices), ())


def flag_parameter(name: str, description: str) -> Parameter[bool]:
    return Parameter(name, description, lambda text: parse_flag(name, text), False, FLAG_SCHEMA)


def integer_parameter(name: str, description: str, least: int, most: int, default: int) -> Parameter[int]:
    schema = {"type": "integer", "minimum": least, "maximum": most, "default": default}
    return Parameter(name, description, lambda text: parse_integer(name, text, least, most), default, schema)


def id_parameter(name: str, description: str, meaning: str) -> Parameter[UUID | None]:
    """Declare an id; `meaning` completes "must be …"."""
    return Parameter(name, description, lambda text: parse_id(name, text, meaning), None)


def parse_choice(name: str, text: str, choices: Collection[str]) -> str:
    if text not in [*choices]:
        raise WrongUse(f"{name}: there is no {text[:MAX_SHOWN]!r}. {suggest_name(text, [*choices])}", name)
    return text


def parse_choices(name: str, text: str, choices: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parse_choice(name, word, choices) for word in text.split(",")))


def parse_flag(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise WrongUse(f"{name} must be true or false, not {text[:MAX_SHOWN]!r}.", name)
    return text == "true"


def parse_integer(name: str, text: str, least: int, most: int) -> int:
    number = parse_digits(text)
    if number is None or not least <= number <= most:
        raise WrongUse(f"{name} must be a whole number from {least} to {most}, not {text[:MAX_SHOWN]!r}.", name)
    return number


def parse_digits(text: str) -> int | None:
    """Return a number that is written in its only form, or None: `int` also takes `+1`, `1_0`, `007` and `١`."""
    return number if WHOLE_NUMBER.fullmatch(text) and (number := int(text)) <= MAX_NUMBER else None


def parse_id(name: str, text: str, meaning: str) -> UUID:
    if not ID.fullmatch(text):  # `UUID` also takes braces, underscores and digits of any script
        raise WrongUse(f"{name} must be {meaning}, not {text[:80]!r}.", name)
    return UUID(text)


def parse_place(text: str | None) -> PageCursor | None:
    """Parse the cursor of a list ordered by time: a time and an id."""
    if text is None:
        return None
    at, _, post_id = text.partition("_")
    try:
        time = datetime.fromisoformat(at)
        if time.tzinfo is None:
            raise ValueError
        place = PageCursor(parse_id("cursor", post_id, EARLIER), time.astimezone(UTC))
    except (ValueError, OverflowError, WrongUse):
        message = f"cursor must be the `next_cursor` of a response to the same query, not {text[:80]!r}."
        raise WrongUse(message, "cursor") from None
    return place


def to_cursor(place: PageCursor) -> str:
    return f"{place.at.astimezone(UTC).isoformat().replace('+00:00', 'Z')}_{place.id}"


FLAG_SCHEMA = {"type": "boolean", "default": False}
EARLIER = "the `next_cursor` of an earlier response"
LIMIT = integer_parameter("limit", "Maximum number of entries on a page.", MIN_LIMIT, MAX_LIMIT, DEFAULT_LIMIT)
CURSOR = id_parameter("cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.", EARLIER)
PAGE: tuple[Parameter[Any], ...] = (LIMIT, CURSOR)
BRAND = text_parameter("brand", "Only entries of this brand.")
NETWORK = text_parameter("network", "Only entries of this network, such as `mastodon`.")
ACCOUNT = text_parameter("account", "Only entries of this account, such as `mastodon:acme`.")
TYPE = text_parameter("type", "Only jobs of this type.")
CHANNEL = text_parameter("channel", "Only jobs of this channel; for posts this is the network.")
TIMEZONE = text_parameter("timezone", "IANA time zone of times without an offset, such as `Europe/Rome`.")
REASON = text_parameter("reason", "The reason, for the audit trail.")
