"""Posts, drafts and imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.messages import ApiRequest, build_query, get, post, send
from postino.client.types.drafts import DraftView
from postino.client.types.explain import ExplanationView
from postino.client.types.imports import ImportView
from postino.client.types.posts import (
    ContentView,
    CreatedPostsView,
    EditedPostView,
    PostDetailsView,
    PostView,
    PreviewResultView,
    ValidationResultView,
)
from postino.client.types.requests import (
    DraftFields,
    Id,
    Instant,
    ListPostsParams,
    PostChanges,
    PostFields,
    Resolution,
)
from postino.client.types.schema import Page
from postino.errors import WrongUse


def ensure_key(key: str | None) -> str:
    """Return the caller's idempotency key, or a new one that makes the request safe to retry."""
    return str(uuid4()) if key is None else key


def check_accounts(accounts: Sequence[str]) -> list[str]:
    """Raise WrongUse for a single text, which would be read as a list of letters."""
    if isinstance(accounts, str):
        raise WrongUse(f"accounts: pass a list, such as [{accounts[:100]!r}]. Nothing was sent.", "accounts")
    return [*accounts]


def to_query(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removesuffix("_at"): value for name, value in filters.items()}


class Posts(Resource[SessionT]):
    """Publish, list and change posts."""

    @call
    def create(
        self, *, accounts: Sequence[str], key: str | None = None, **fields: Unpack[PostFields]
    ) -> ApiRequest[CreatedPostsView]:
        """Publish on `accounts`, now or `at` a time.

        A second request with the same `key` returns the same posts and creates none. A post that repeats a recent
        one is rejected as a duplicate unless `allow_duplicate` is true.
        """
        return send("POST", "posts", body={"accounts": check_accounts(accounts), **fields}, key=ensure_key(key))

    @call
    def preview(self, *, accounts: Sequence[str], **fields: Unpack[PostFields]) -> ApiRequest[PreviewResultView]:
        """Return how each account would publish the post, with all problems. Creates nothing."""
        return send("POST", "posts", body={"accounts": check_accounts(accounts), "preview": True, **fields})

    @call
    def validate(self, *, accounts: Sequence[str], **fields: Unpack[PostFields]) -> ApiRequest[ValidationResultView]:
        """Return whether the post is valid, with the problems of every account. Creates nothing."""
        return send("POST", "posts", "validate", body={"accounts": check_accounts(accounts), **fields})

    @call
    def list(self, **filters: Unpack[ListPostsParams]) -> ApiRequest[Page[PostView]]:
        """Return one page of posts, newest first. `cursor` is the `next_cursor` of the page before."""
        return get("posts", **to_query(filters))

    @paginate
    def iterate(self, **filters: Unpack[ListPostsParams]) -> ApiRequest[Page[PostView]]:
        """Iterate over all posts, newest first."""
        return get("posts", **to_query(filters))

    @call
    def get(self, post_id: Id) -> ApiRequest[PostDetailsView]:
        """Return one post with its history."""
        return get("posts", post_id)

    @call
    def content(self, content_id: Id) -> ApiRequest[ContentView]:
        """Return a content with the posts on all its accounts."""
        return get("contents", content_id)

    @call
    def explain(self, post_id: Id, *, timezone: str | None = None) -> ApiRequest[ExplanationView]:
        """Return why a post is not published yet."""
        return get("posts", post_id, "explain", timezone=timezone)

    @call
    def edit(self, post_id: Id, **changes: Unpack[PostChanges]) -> ApiRequest[EditedPostView]:
        """Change the content of a post, or reschedule it with `at`. Fields that are not passed stay."""
        return send("PATCH", "posts", post_id, body=changes)

    @call
    def cancel(self, post_id: Id, *, reason: str = "") -> ApiRequest[PostView]:
        """Cancel a post of which nothing has been sent yet, even while a worker prepares it."""
        return post("posts", post_id, "cancel", reason=reason)

    @call
    def publish_now(self, post_id: Id, *, allow_blackout: bool = False, reason: str = "") -> ApiRequest[PostView]:
        """Publish a scheduled post now."""
        return post("posts", post_id, "publish-now", allow_blackout=allow_blackout, reason=reason)

    @call
    def replay(self, post_id: Id, *, force: bool = False, reason: str = "") -> ApiRequest[PostView]:
        """Publish a failed post again."""
        return post("posts", post_id, "replay", force=force, reason=reason)

    @call
    def resolve(
        self, post_id: Id, verdict: Resolution, *, reason: str, remote_id: str | None = None
    ) -> ApiRequest[PostView]:
        """Decide what became of an uncertain post. `live` needs its `remote_id`."""
        return post("posts", post_id, "resolve", verdict=verdict, reason=reason, remote_id=remote_id)


class Drafts(Resource[SessionT]):
    """Posts that are not scheduled yet."""

    @call
    def create(self, *, key: str | None = None, **fields: Unpack[DraftFields]) -> ApiRequest[DraftView]:
        """Save a draft."""
        return send("POST", "drafts", body=fields, key=ensure_key(key))

    @call
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> ApiRequest[Page[DraftView]]:
        """Return one page of drafts, newest first."""
        return get("drafts", limit=limit, cursor=cursor)

    @paginate
    def iterate(self, *, limit: int | None = None) -> ApiRequest[Page[DraftView]]:
        """Iterate over all drafts, newest first."""
        return get("drafts", limit=limit)

    @call
    def get(self, draft_id: Id) -> ApiRequest[DraftView]:
        """Return one draft."""
        return get("drafts", draft_id)

    @call
    def edit(self, draft_id: Id, **changes: Unpack[DraftFields]) -> ApiRequest[DraftView]:
        """Change a draft. Fields that are not passed stay, None removes one."""
        return send("PATCH", "drafts", draft_id, body=changes)

    @call
    def remove(self, draft_id: Id) -> ApiRequest[DraftView]:
        """Delete a draft."""
        return send("DELETE", "drafts", draft_id)

    @call
    def schedule(
        self,
        draft_id: Id,
        *,
        at: Instant | None = None,
        timezone: str | None = None,
        allow_duplicate: bool = False,
        allow_blackout: bool = False,
        key: str | None = None,
    ) -> ApiRequest[CreatedPostsView]:
        """Create the posts of a draft, `at` a time or at the draft's own, and delete the draft."""
        options = {"allow_duplicate": allow_duplicate, "allow_blackout": allow_blackout}
        return post("drafts", draft_id, "schedule", at=at, timezone=timezone, **options, key=ensure_key(key))


class Imports(Resource[SessionT]):
    """CSV files of posts."""

    @call
    def check(self, file: bytes | str | Path, *, timezone: str | None = None) -> ApiRequest[ImportView]:
        """Check every line of a CSV file, passed as a path or as its content. Creates nothing."""
        return post_csv(read_bytes(file), timezone=timezone)

    @call
    def save(self, token: str) -> ApiRequest[ImportView]:
        """Create the posts of a checked file. Saving twice creates them once."""
        return post_csv(b"", commit=True, token=token)

    @call
    def get(self, import_id: Id) -> ApiRequest[ImportView]:
        """Return the progress of an import and the problems of its lines."""
        return get("imports", import_id)


def read_bytes(file: object) -> bytes:
    match file:
        case bytes():
            return file
        case str():
            return file.encode()
        case Path():
            return read_path(file)
        case _:
            expected = "a pathlib.Path, or the content of the file as bytes or text"
            raise WrongUse(f"file: pass {expected}, not {type(file).__name__}. Nothing was sent.", "file")


def read_path(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongUse(f"file: {path} cannot be read: {error.strerror}. Nothing was sent.", "file") from None


def post_csv(file: bytes, **query: object) -> ApiRequest[Any]:
    return replace(send("POST", "imports"), body=file, content_type="text/csv", query=build_query(query))
