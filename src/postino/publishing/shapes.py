"""Posts, contents and accounts as the API and `--json` show them: plain JSON, and never a secret."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.config import without_secrets
from postino.publishing.accounts import SANDBOX
from postino.publishing.contents import content_from
from postino.publishing.posts import PostPreview, errors
from postino.rules.gates import holds, is_closed, told_of_gate
from postino.rules.post_status import Facts, Standing, content_status, post_status
from postino.stores.records import Attempt
from postino.values.content import Content, MediaRef, Override, Problem
from postino.values.gate import Gate
from postino.values.job import Job, Queue, State
from postino.values.ledger import Fact, Ledger
from postino.values.post import AccountState, StoredAccount, StoredPost


def of_post(post: StoredPost, standing: Standing) -> dict[str, Any]:
    job = post.job
    shape = {
        "id": job.id,
        "status": standing.status.value,
        "flags": [flag.value for flag in standing.flags],
        "reasons": {flag.value: why for flag, why in standing.flags.items()},
        "network": job.channel,
        "account": job.account,
        "content_id": post.content_id,
        "scheduled_at": job.scheduled_at,
        "run_at": None if job.state.is_final else job.run_at,
        "published_at": published_at(job),
        "remote_id": job.remote_id,
        "url": url_of(job),
        "attempts": job.attempts,
        "last_error": trouble_of(job),
        "needs_person": needs_person(job),
        "publish_until": post.publish_until_at,
        "version": post.version,
        "created_at": job.created_at,
        "text": content_from(post.content).body,
    }
    return {name: plain(value) for name, value in shape.items()}


def of_history(history: Sequence[Attempt], ledger: Ledger) -> dict[str, Any]:
    """What happened to a post, try by try and call by call. What steps remember may hold tokens, and is not told."""
    return {
        "history": [without(plain_fields(attempt), "trace", "error_class") for attempt in history],
        "steps": [without(plain_fields(step), "result", "position") for step in ledger.steps],
        "intents": [without(plain_fields(intent), "position") for intent in ledger.intents],
        "receipts": [of_fact(fact) for fact in ledger.facts],
    }


def of_fact(fact: Fact) -> dict[str, Any]:
    receipt = fact.receipt
    got = {"remote_id": receipt and receipt.remote_id, "url": receipt and receipt.url}
    return without(plain_fields(fact), "receipt") | got


def of_content(content_id: UUID, text: str, posts: Sequence[dict[str, Any]], standings: Iterable[Standing]) -> Any:
    said = content_from(text)
    return {
        "id": str(content_id),
        "status": content_status(standing.status for standing in standings).value,
        **of_said(said),
        "placeholders": dict(said.placeholders),
        "overrides": {network: of_said(override) for network, override in said.overrides.items()},
        "posts": list(posts),
    }


def of_said(said: Content | Override) -> dict[str, Any]:
    """As `POST /v1/posts` takes it; in an override, what it leaves out."""
    shape = {
        "text": said.body,
        "thread": None if said.thread is None else list(said.thread),
        "title": said.title,
        "hashtags": None if said.hashtags is None else list(said.hashtags),
        "media": None if said.media is None else [of_media(media) for media in said.media],
    }
    if isinstance(said, Content):
        return shape
    return {name: value for name, value in shape.items() if value is not None} | {"options": dict(said.options)}


def of_media(media: MediaRef) -> dict[str, Any]:
    return {"url": media.url, "alt": media.alt, "kind": None if media.kind is None else media.kind.value}


def of_preview(preview: PostPreview) -> dict[str, Any]:
    rendered = preview.rendered
    return {
        "account": preview.account.id,
        "network": preview.account.network,
        "publishable": not errors(preview),
        "parts": list(rendered.parts),
        "title": rendered.title,
        "media": [of_media(media) for media in rendered.media],
        "hashtags": list(rendered.hashtags),
        "problems": [of_problem(problem) for problem in preview.problems],
    }


def of_problem(problem: Problem) -> dict[str, Any]:
    return {"severity": problem.severity.value, "field": problem.field, "message": problem.message}


def of_account(account: StoredAccount) -> dict[str, Any]:
    sandbox = account.base_url.startswith(SANDBOX)
    return {
        "id": account.id,
        "network": account.network,
        "handle": account.handle,
        "state": account.state.value,
        "reason": account.reason,
        "brand": account.brand,
        "remote_id": account.remote_id,
        "base_url": account.base_url if sandbox else without_secrets(account.base_url),
        "sandbox": sandbox,
        "created_at": plain(account.created_at),
    }


def standing_of(post: StoredPost, gates: Iterable[Gate], most_attempts: int | None, now: datetime) -> Standing:
    job = post.job
    facts = Facts(
        state=job.state,
        scheduled_at=job.scheduled_at,
        run_at=job.run_at,
        published_at=published_at(job),
        publish_until_at=post.publish_until_at,
        attempts=job.attempts,
        max_attempts=most_attempts if job.max_attempts is None else job.max_attempts,
        deferred=job.deferred or held_by(job, gates),
        token_expired=post.account_state is AccountState.TOKEN_EXPIRED,
    )
    return post_status(facts, now)


def held_by(job: Job, gates: Iterable[Gate]) -> str | None:
    """Why it may not run when it is due, in words; what is open again by then says nothing."""
    due = [gate for gate in gates if job.run_at is None or is_closed(gate, job.run_at)]
    return next((told_of_gate(gate) for gate in due if holds(gate, job)), None)


def needs_person(job: Job) -> bool:
    """Something may be out there, and nobody but a person can tell."""
    return job.state is State.UNCERTAIN and job.run_at is None


def trouble_of(job: Job) -> str | None:
    """What went wrong last; of a post that is held for a person's word, why it is."""
    return job.deferred if needs_person(job) and job.deferred is not None else job.last_error


def published_at(job: Job) -> datetime | None:
    return job.finished_at if job.state is State.COMPLETED else None


def url_of(job: Job) -> str | None:
    result = None if job.result is None else json.loads(job.result)
    return result.get("url") if isinstance(result, dict) else None


def without(shape: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in shape.items() if name not in names}


def plain_fields(value: Any) -> dict[str, Any]:
    return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}


def plain(value: Any) -> Any:
    match value:
        case Queue():
            return value.label
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case _:
            return value
