"""Answers that were given once and are given again: kept with what the request made, in the same transaction."""

from collections.abc import Sequence
from typing import Any

from postino.errors import Conflict
from postino.stores.statement import Operation, Row, each
from postino.values.post import Answer, Asked, Once


def find_response(asked: Asked, *, keep: bool = False) -> Operation[Answer | None]:
    """What was answered before. With `keep` this is the one who answers, if nobody was before."""
    if keep and (yield from reserve_responses([asked])):
        return None
    return (yield from find_responses([asked]))[0]


def reserve_responses(asked: Sequence[Asked]) -> Operation[list[Asked]]:
    """Those that nobody has answered, which this is to answer: of several with the same key the first."""
    kept = {
        (row["caller"], row["key"])
        for row in (yield each("reserve_responses", [make_request_values(one) for one in asked]))
    }
    first = {(one.caller, one.key): one for one in reversed(asked)}
    return [one for name, one in first.items() if name in kept]


def find_responses(asked: Sequence[Asked]) -> Operation[list[Answer | None]]:
    """What was answered to each. Raises Conflict where a key was used for another request."""
    names = {(one.caller, one.key) for one in asked}
    found = yield each("find_responses", [{"caller": caller, "key": key} for caller, key in sorted(names)])
    there = {(row["caller"], row["key"]): row for row in found}
    return [to_response(one, there.get((one.caller, one.key))) for one in asked]


def to_response(asked: Asked, row: Row | None) -> Answer | None:
    if row is None:
        return None
    if row["request"] != asked.request:
        raise Conflict(describe_reuse(asked, row))
    return Answer(row["status"], row["body"])


def store_response(once: Once, made: Any) -> Operation[None]:
    yield from store_responses([(once, made)])


def store_responses(made: Sequence[tuple[Once, Any]]) -> Operation[None]:
    told = [(once.asked, once.told(what)) for once, what in made]
    yield each("save_responses", [
        {"caller": asked.caller, "key": asked.key, "status": answer.status, "body": answer.body}
        for asked, answer in told
    ])  # fmt: skip


def make_request_values(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__slots__}


def describe_reuse(asked: Asked, first: Row) -> str:
    at = f"{first['created_at']:%Y-%m-%d %H:%M:%S} UTC"
    before = f"{first['what']} with the body {first['request'][:12]}"
    now = f"{asked.what} with the body {asked.request[:12]}"
    return (
        f"Idempotency-Key {asked.key!r} was used at {at} for {before}; this is {now} (each the start of its SHA-256)."
        " Nothing was changed. Send the first again to hear what was answered to it, or give this one a key of its own."
    )
