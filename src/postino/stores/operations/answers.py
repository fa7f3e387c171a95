"""Answers that were given once and are given again: kept with what the request made, in the same transaction."""

from typing import Any

from postino.errors import Conflict
from postino.post import Answer, Asked, Once
from postino.stores.statement import Operation, Row, ask


def known(asked: Asked, *, keep: bool = False) -> Operation[Answer | None]:
    """What was answered before. With `keep` this is the one who answers, if nobody was before."""
    if keep and (yield ask("keep_answer", **values(asked))):
        return None
    found = yield ask("answer", caller=asked.caller, key=asked.key)
    if not found:
        return None
    if found[0]["request"] != asked.request:
        raise Conflict(another(asked, found[0]))
    return Answer(found[0]["status"], found[0]["body"])


def write(once: Once, made: Any) -> Operation[None]:
    answer = once.told(made)
    asked = once.asked
    yield ask("write_answer", caller=asked.caller, key=asked.key, status=answer.status, body=answer.body)


def values(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__slots__}


def another(asked: Asked, first: Row) -> str:
    at = f"{first['created_at']:%Y-%m-%d %H:%M:%S} UTC"
    before = f"{first['what']} with the body {first['request'][:12]}"
    now = f"{asked.what} with the body {asked.request[:12]}"
    return (
        f"Idempotency-Key {asked.key!r} was used at {at} for {before}; this is {now} (each the start of its SHA-256)."
        " Nothing was changed. Send the first again to hear what was answered to it, or give this one a key of its own."
    )
