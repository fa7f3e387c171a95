"""Render posts, contents and previews. The status of a post is derived from its job and the current gates."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.api.views.fields import omit, render_fields, to_json
from postino.client.types.ledger import ReceiptView
from postino.client.types.posts import AccountProblemView, MediaView, PostPreviewView, PostProblemView, PostView
from postino.errors import NotFound
from postino.publishing.blackouts import describe_delays
from postino.publishing.contents import load_content
from postino.publishing.post_validation import PostPreview
from postino.rules.blackout import Blackout
from postino.rules.gates import compute_closed_gates, describe_closed_gate, is_blocking, is_closed
from postino.rules.post_status import (
    STATUS,
    Flag,
    PostSnapshot,
    PostStatus,
    StatusReport,
    compute_content_status,
    compute_post_status,
)
from postino.rules.rendering import limit_to_networks
from postino.stores.records import Attempt
from postino.values.content import Content, ContentOverride, MediaRef, Problem
from postino.values.gate import Gate
from postino.values.job import Job, State
from postino.values.ledger import Ledger, ReceiptEntry
from postino.values.post import AccountState, PageCursor, PostFilter, SavedPost, StoredPost
from postino.wiring import Postino, get_post_max_attempts

MAX_POSTS = 1000  # of one content
MAX_PAGES, PAGE_SIZE = 5, 200  # that one response searches for posts with a flag


@dataclass(frozen=True, slots=True)
class PostViews:
    """Renders posts with the gates and blackouts of one moment, which `load` reads."""

    app: Postino
    gates: Sequence[Gate]
    blackouts: Sequence[Blackout]
    now: datetime

    @classmethod
    async def load(cls, app: Postino) -> "PostViews":
        known, gates, now = await app.read_batcher.gates()
        closed_gates = compute_closed_gates(replace(known, gates=tuple(gates)), now).gates
        return cls(app, closed_gates, known.blackouts, now)

    def get_status(self, post: StoredPost) -> StatusReport:
        return derive_status(post, self.gates, get_post_max_attempts(self.app.config, post.job.channel), self.now)

    def render(self, post: StoredPost) -> PostView:
        return render_post(post, self.get_status(post))

    def list_notes(self, posts: Sequence[StoredPost]) -> list[str]:
        """Return what people should know about the times of new posts."""
        return describe_delays(self.blackouts, posts, self.now)

    async def load_page(
        self, criteria: PostFilter, flags: frozenset[Flag] = frozenset()
    ) -> tuple[list[PostView], PageCursor | None]:
        """Return the posts that match and have one of the flags, and the place of the next page.

        Flags are derived, so pages are searched for them; a page may be short, or empty, and still have a next one.
        """
        states = tuple(state for state in criteria.states or tuple(State) if state in list_states(flags))
        if flags and not states:
            return [], None
        posts: list[StoredPost] = []
        limit = criteria.limit
        criteria = replace(criteria, states=states, limit=PAGE_SIZE) if flags else criteria
        for _ in range(MAX_PAGES if flags else 1):
            page = await self.app.store.posts_page(criteria)
            posts += [post for post in page.posts if not flags or flags & self.get_status(post).flags.keys()]
            if page.next is None or len(posts) >= limit:
                break
            criteria = replace(criteria, before=page.next.id, before_at=page.next.at)
        place = page.next
        if len(posts) > limit:
            posts = posts[:limit]
            place = PageCursor(posts[-1].job.id, posts[-1].job.scheduled_at)
        return [self.render(post) for post in posts], place

    async def load_details(self, post: StoredPost) -> dict[str, Any]:
        """Return a post with its attempts, steps, intents and receipts, why it failed or who cancelled it."""
        store, job = self.app.store, post.job
        view = self.render(post) | render_history(await store.attempts(job.id), await store.ledger(job.id))
        if job.state not in (State.FAILED, State.CANCELLED):
            return view | {"cause": None, "cancelled": None}
        facts = (await store.explain_input(job)).facts
        return view | {"cause": facts.cause, "cancelled": facts.cancelled_by}

    async def load_content(self, content_id: UUID, brands: frozenset[str] | None = None) -> dict[str, Any]:
        posts = await self.app.store.posts(PostFilter(content_id=content_id, brands=brands, limit=MAX_POSTS))
        if not posts:
            raise NotFound(f"Content {content_id} does not exist, or no post has it.")
        statuses = [self.get_status(post).status for post in posts]
        content = load_content(posts[0].content)
        if brands is not None:
            content = limit_to_networks(content, {post.job.channel for post in posts})
        return render_content(content_id, content) | {
            "status": compute_content_status(statuses).value,
            "posts": [self.render(post) for post in posts],
        }


async def render_current_post(app: Postino, post: StoredPost) -> PostView:
    return (await PostViews.load(app)).render(post)


def list_states(flags: frozenset[Flag]) -> frozenset[State]:
    """Return the states in which a post can have one of these flags."""
    states = {State.PENDING, State.RUNNING} if flags else set(State)
    return frozenset(states | ({State.COMPLETED} if Flag.LATE in flags else set()))


def render_post(post: StoredPost, report: StatusReport) -> PostView:
    job = post.job
    return {
        "id": str(job.id),
        "status": to_json(report.status),
        "flags": [to_json(flag) for flag in report.flags],
        "reasons": {to_json(flag): reason for flag, reason in report.flags.items()},
        "network": job.channel,
        "account": to_json(job.account),
        "content_id": str(post.content_id),
        "scheduled_at": to_json(job.scheduled_at),
        "run_at": None if job.state.is_final else to_json(job.run_at),
        "published_at": to_json(get_published_at(job)),
        "remote_id": job.remote_id,
        "url": get_url(job),
        "attempts": job.attempts,
        "last_error": get_last_error(job),
        "needs_person": needs_person(job),
        "publish_until": to_json(post.publish_until_at),
        "version": post.version,
        "created_at": to_json(job.created_at),
        "text": load_content(post.content).body,
    }


def render_history(attempts: Sequence[Attempt], ledger: Ledger) -> dict[str, Any]:
    """Render what happened to a post. Results of steps may hold tokens and are left out."""
    return {
        "history": [omit(render_fields(attempt), "trace", "error_class") for attempt in attempts],
        "steps": [omit(render_fields(step), "result", "position") for step in ledger.steps],
        "intents": [omit(render_fields(intent), "position") for intent in ledger.intents],
        "receipts": [render_receipt(entry) for entry in ledger.receipts],
    }


def render_receipt(entry: ReceiptEntry) -> ReceiptView:
    receipt = entry.receipt
    remote = {"remote_id": receipt and receipt.remote_id, "url": receipt and receipt.url}
    view: ReceiptView = omit(render_fields(entry), "receipt") | remote
    return view


def render_content(content_id: UUID, content: Content) -> dict[str, Any]:
    return {
        "id": str(content_id),
        **render_content_fields(content),
        "placeholders": dict(content.placeholders),
        "overrides": {network: render_content_fields(override) for network, override in content.overrides.items()},
    }


def render_content_fields(content: Content | ContentOverride) -> dict[str, Any]:
    """Render the fields as `POST /v1/posts` takes them; an override has only those that it changes."""
    view = {
        "text": content.body,
        "thread": None if content.thread is None else list(content.thread),
        "title": content.title,
        "hashtags": None if content.hashtags is None else list(content.hashtags),
        "media": None if content.media is None else [render_media(media) for media in content.media],
    }
    if isinstance(content, Content):
        return view
    return {name: value for name, value in view.items() if value is not None} | {"options": dict(content.options)}


def render_media(media: MediaRef) -> MediaView:
    return {"url": media.url, "alt": media.alt, "kind": to_json(media.kind)}


def render_preview(preview: PostPreview) -> PostPreviewView:
    rendered = preview.rendered
    return {
        "account": preview.account.id,
        "network": preview.account.network,
        "publishable": not preview.errors,
        "parts": list(rendered.parts),
        "title": rendered.title,
        "media": [render_media(media) for media in rendered.media],
        "hashtags": list(rendered.hashtags),
        "problems": [render_problem(problem) for problem in preview.problems],
    }


def render_problem(problem: Problem) -> PostProblemView:
    return {"severity": to_json(problem.severity), "field": problem.field, "message": problem.message}


def render_problems(previews: Iterable[PostPreview]) -> list[AccountProblemView]:
    """Render the problems of all previews, each with its account."""
    return [
        {**render_problem(problem), "account": preview.account.id, "network": preview.account.network}
        for preview in previews
        for problem in preview.problems
    ]


def render_created_posts(posts: Sequence[PostView], notes: Sequence[str]) -> dict[str, Any]:
    """Render the posts of one request. For a single account the response is also the post itself."""
    content = {
        "content_id": posts[0]["content_id"],
        "status": compute_content_status(PostStatus(post["status"]) for post in posts).value,
    }
    view: Mapping[str, Any] = content if len(posts) > 1 else posts[0]
    return {**view, "posts": [*posts], "notes": [*notes]}


def describe_existing(written: Sequence[SavedPost]) -> list[str]:
    """Return a note for each post that existed before this request."""
    notes = []
    for one in written:
        job = one.post.job
        if one.created:
            continue
        match STATUS[job.state]:
            case PostStatus.CANCELLED:
                state = "was cancelled, which is final. Send `allow_duplicate` to publish it anyway."
            case PostStatus.FAILED:
                state = f"failed: {job.last_error} Replay it to publish it."
            case _ if one.post.version > 1:
                state = "was edited since. The edited version will be published."
            case status:
                when = "" if job.run_at is None else f" for {job.scheduled_at:%Y-%m-%d %H:%M} UTC"
                state = f"is {status}{when}. This request changed nothing."
        notes.append(f"Post {job.id} ({job.account}) already exists and {state}")
    return notes


def derive_status(post: StoredPost, gates: Iterable[Gate], max_attempts: int | None, now: datetime) -> StatusReport:
    job = post.job
    facts = PostSnapshot(
        state=job.state,
        scheduled_at=job.scheduled_at,
        run_at=job.run_at,
        published_at=get_published_at(job),
        publish_until_at=post.publish_until_at,
        attempts=job.attempts,
        max_attempts=max_attempts if job.max_attempts is None else job.max_attempts,
        deferral_reason=job.deferral_reason or describe_gate(job, gates),
        token_expired=post.account_state in (AccountState.TOKEN_EXPIRED, AccountState.SUSPENDED, AccountState.LOCKED),
    )
    return compute_post_status(facts, now)


def describe_gate(job: Job, gates: Iterable[Gate]) -> str | None:
    """Return why a gate holds this job when it is due. Gates that open earlier do not count."""
    due = [gate for gate in gates if job.run_at is None or is_closed(gate, job.run_at)]
    return next((describe_closed_gate(gate) for gate in due if is_blocking(gate, job)), None)


def needs_person(job: Job) -> bool:
    """Return whether the post may be live and only a person can find out."""
    return job.state is State.UNCERTAIN and job.run_at is None


def get_last_error(job: Job) -> str | None:
    """Return the last error; for a post that needs a person, why it does."""
    return job.deferral_reason if needs_person(job) and job.deferral_reason is not None else job.last_error


def get_published_at(job: Job) -> datetime | None:
    return job.finished_at if job.state is State.COMPLETED else None


def get_url(job: Job) -> str | None:
    result = None if job.result is None else json.loads(job.result)
    return result.get("url") if isinstance(result, dict) else None
