"""A job as its caller describes it, and its checks. A wrong field raises WrongUse with the name of the field."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from postino.engine.checks import (
    check_attempts,
    check_backoff,
    check_label,
    check_name,
    check_parent,
    check_seconds,
    check_text,
    check_time,
    parse_queue,
)
from postino.engine.children import choose_child_key
from postino.errors import WrongUse
from postino.rules.idempotency import make_child_key, make_job_key
from postino.rules.retry import Backoff, RetryOverride, serialize_backoff
from postino.stores.records import NewJob
from postino.values.job import Queue, make_constructor, new_id
from postino.values.post import POST
from postino.values.suggestions import suggest_name

MAX_PAYLOAD_BYTES = 1_000_000


@dataclass(slots=True)  # not frozen: that would make it three times slower to create
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
    def parse(cls, value: "JobSpec | Mapping[str, Any] | Sequence[Any]") -> "JobSpec":
        """Return the spec for what `enqueue_many` takes: a spec, its fields as a mapping, or (type, payload)."""
        match value:
            case JobSpec():
                return value
            case Mapping():
                unknown = next((name for name in value if name not in cls.__slots__), None)
                if unknown is not None:
                    hint = suggest_name(unknown, cls.__slots__)
                    raise WrongUse(f"{unknown}: a job has no such field. {hint}", field=unknown)
                return cls(**{"type": None, **value})
            case [type_, *rest] if not isinstance(value, str) and len(rest) < len(cls.__slots__):
                return cls(type_, *rest)
            case _:
                raise WrongUse(f"jobs: expected a JobSpec, a mapping or (type, payload), not {value!r}.", field="jobs")


fill_new_job = make_constructor(NewJob)


def build_new_job(
    spec: JobSpec, default_queue: Queue, id: UUID | None = None, networks: Collection[str] = ()
) -> NewJob:
    """Check a spec and return the job to insert, with its id and idempotency key."""
    name = check_label("type", check_name(spec.type, "type")) or ""
    channel = check_channel(check_label("channel", spec.channel) or name, name, networks)
    account = check_label("account", spec.account)
    key, parent, payload = check_text("key", spec.key), check_parent(spec.parent), encode_payload(spec.payload)
    at = check_time("at", spec.at)
    brand = check_label("brand", spec.brand)
    stored_key = None if key is None else make_job_key(key, account, brand)
    if key is None and parent is not None:
        stored_key = choose_child_key(make_child_key(parent, name, payload, account), at)
    return fill_new_job(
        id or new_id(),
        name,
        channel,
        default_queue if spec.queue is None else parse_queue(spec.queue),
        payload,
        stored_key,
        at,
        account,
        brand,
        check_text("user_id", spec.user_id),
        parent,
        check_text("correlation_id", spec.correlation_id),
        check_attempts("max_attempts", spec.max_attempts),
        None if spec.backoff is None else serialize_backoff(check_backoff(spec.backoff)),
        check_seconds("time_limit", spec.time_limit),
    )


def check_channel(channel: str, type: str, networks: Collection[str]) -> str:
    """Return the channel. Raises WrongUse if it is that of a network: only posts use its slots, lanes and circuits."""
    if channel not in networks or type == POST:
        return channel
    message = (
        f"channel: {channel!r} is the channel of a network, which only Postino's own jobs may use. Choose another"
        f" channel, such as {f'{type}-{channel}' if type != channel else f'{channel}-jobs'!r}. To publish a post, use"
        " `POST /v1/posts`. Nothing was queued."
    )
    raise WrongUse(message, field="channel")


def make_override(max_attempts: Any, backoff: Any, time_limit: Any) -> RetryOverride:
    """Return the retry policy that a handler declares for its type of job."""
    return RetryOverride(
        check_attempts("max_attempts", max_attempts),
        None if backoff is None else check_backoff(backoff),
        check_seconds("time_limit", time_limit),
    )


def encode_payload(payload: Any) -> bytes:
    """Return the payload as it is stored: bytes unchanged, anything else as JSON."""
    if isinstance(payload, bytes):
        encoded = payload
    else:
        try:
            encoded = to_json(payload)
            if b"NaN" in encoded or b"Infinity" in encoded:  # perhaps only inside a text
                json.loads(encoded, parse_constant=refuse_constant)
        except (PydanticSerializationError, ValueError) as error:
            raise WrongUse(f"payload: cannot be written as JSON ({error}).", field="payload") from error
    if len(encoded) > MAX_PAYLOAD_BYTES:
        size, limit = f"{len(encoded):,}", f"{MAX_PAYLOAD_BYTES:,}"
        raise WrongUse(
            f"payload: {size} bytes is more than {limit}. Store it elsewhere and enqueue its address.", field="payload"
        )
    return encoded


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
