"""What a caller asks for, checked before anything is written: a wrong call is refused with the field's name."""

import difflib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from postino.errors import WrongUse
from postino.rules.idempotency import job_key
from postino.rules.retry import Backoff, Exponential, Override, Schedule, backoff_text
from postino.stores.records import NewJob
from postino.values.job import Queue, drafted, new_id

MOST_BYTES = 1_000_000
MOST_CHARACTERS = 500
MOST_ATTEMPTS = 1000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and half characters


@dataclass(slots=True)  # not frozen: that would take three times as long to fill in
class JobSpec:
    """A job to be enqueued: its type, its payload, and what differs from the defaults."""

    type: str
    payload: Any = None
    at: datetime | None = None
    queue: str | Queue | None = None
    channel: str | None = None
    account: str | None = None
    brand: str | None = None
    user_id: str | None = None
    key: str | None = None
    parent: UUID | None = None
    correlation_id: str | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    time_limit: float | None = None

    @classmethod
    def of(cls, wanted: "JobSpec | Mapping[str, Any] | Sequence[Any]") -> "JobSpec":
        """From what `enqueue_many` takes: a spec, its fields as a mapping, or (type, payload)."""
        match wanted:
            case JobSpec():
                return wanted
            case Mapping():
                unknown = next((name for name in wanted if name not in cls.__slots__), None)
                if unknown is not None:
                    hint = suggest(unknown, cls.__slots__)
                    raise WrongUse(f"{unknown}: a job has no such field.{hint}", field=unknown)
                return cls(**{"type": None, **wanted})
            case [type_, *rest] if not isinstance(wanted, str) and len(rest) < len(cls.__slots__):
                return cls(type_, *rest)
            case _:
                raise WrongUse(f"jobs: expected a JobSpec, a mapping or (type, payload), not {wanted!r}.", field="jobs")


make_new_job = drafted(NewJob)


def new_job(spec: JobSpec, default_queue: Queue, id: UUID | None = None) -> NewJob:
    name = check_name(spec.type, "type")
    account = check_text("account", spec.account)
    key = check_text("key", spec.key)
    return make_new_job(
        id or new_id(),
        name,
        check_text("channel", spec.channel) or name,
        default_queue if spec.queue is None else parse_queue(spec.queue),
        payload_bytes(spec.payload),
        None if key is None else job_key(key, account),
        check_time("at", spec.at),
        account,
        check_text("brand", spec.brand),
        check_text("user_id", spec.user_id),
        check_parent(spec.parent),
        check_text("correlation_id", spec.correlation_id),
        check_whole("max_attempts", spec.max_attempts),
        None if spec.backoff is None else backoff_text(check_backoff(spec.backoff)),
        check_seconds("time_limit", spec.time_limit),
    )


def make_override(max_attempts: Any, backoff: Any, time_limit: Any) -> Override:
    """What a handler says about its type of job."""
    return Override(
        check_whole("max_attempts", max_attempts),
        None if backoff is None else check_backoff(backoff),
        check_seconds("time_limit", time_limit),
    )


def payload_bytes(payload: Any) -> bytes:
    """As stored: bytes as they are, anything else as JSON."""
    if isinstance(payload, bytes):
        encoded = payload
    else:
        try:
            encoded = to_json(payload)
            if b"NaN" in encoded or b"Infinity" in encoded:  # perhaps inside a text
                json.loads(encoded, parse_constant=no_number)
        except (PydanticSerializationError, ValueError) as error:
            raise WrongUse(f"payload: cannot be written as JSON ({error}).", field="payload") from error
    if len(encoded) > MOST_BYTES:
        raise WrongUse(
            f"payload: {len(encoded):,} bytes is more than {MOST_BYTES:,}. Keep it elsewhere and enqueue where it is.",
            field="payload",
        )
    return encoded


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON knows")


def parse_queue(name: str | Queue, field: str = "queue") -> Queue:
    if isinstance(name, Queue):
        return name
    labels = [queue.label for queue in Queue]
    if name not in labels:
        raise WrongUse(f"{field}: there is no queue {name!r:.40}. There are: {', '.join(labels)}.", field=field)
    return Queue.named(name)


def check_backoff(value: Any) -> Backoff:
    if isinstance(value, Exponential | Schedule):
        return value
    raise wrong_value("backoff", value, "Exponential(…) or Schedule([…])")


def check_time(field: str, value: Any) -> datetime | None:
    if value is None:
        return None
    if is_instant(value):
        return value.astimezone(UTC)  # type: ignore[no-any-return]
    raise wrong_value(field, value, "a datetime with a time zone, from 1970 to 9000, for example datetime.now(UTC)")


def is_instant(value: Any) -> bool:
    """Whether databases can keep it: their first and last moments are special to some of them."""
    return isinstance(value, datetime) and value.tzinfo is not None and 1970 < value.year < 9000


def check_parent(value: Any) -> UUID | None:
    if value is None or isinstance(value, UUID):
        return value
    raise wrong_value("parent", value, "the id of a job, a UUID")


def check_text(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= MOST_CHARACTERS and not UNSTORABLE.search(value):
        return value
    raise wrong_value(field, value, f"a text of 1 to {MOST_CHARACTERS} whole characters without NUL")


def check_name(name: Any, field: str = "name") -> str:
    checked = check_text(field, name)
    if checked is None:
        raise wrong_value(field, name, "a name")
    return checked


def check_whole(field: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_ATTEMPTS:
        return value
    raise wrong_value(field, value, f"a whole number from 1 to {MOST_ATTEMPTS}")


def check_seconds(field: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise wrong_value(field, value, "a number of seconds greater than 0")


def wrong_value(field: str, value: Any, wanted: str) -> WrongUse:
    return WrongUse(f"{field}: expected {wanted}, not {value!r:.200}.", field=field)


def suggest(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]}?" if close else f" There are: {', '.join(names)}."
