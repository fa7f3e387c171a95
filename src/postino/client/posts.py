"""Posts, and what may become some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.house_shapes import Import
from postino.client.messages import ApiRequest, build_query, get, post, send
from postino.client.shapes import ChangedPost, Content, Draft, Explained, Judged, Made, Post, PostDetails, Previewed
from postino.client.wishes import Changes, DraftSaid, Id, Instant, NewPost, PostsWanted, Verdict
from postino.client.words import Page
from postino.errors import WrongUse


def ensure_key(key: str | None) -> str:
    """The caller's key, or one by which this very request is known if it has to be sent again."""
    return str(uuid4()) if key is None else key


def check_accounts(accounts: Sequence[str]) -> list[str]:
    """One name alone would be taken apart, letter by letter."""
    if isinstance(accounts, str):
        raise WrongUse(f"accounts: give a list, such as [{accounts[:100]!r}]. Nothing was sent.", "accounts")
    return [*accounts]


def to_query(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removesuffix("_at"): value for name, value in filters.items()}


class Posts(Resource[SessionT]):
    @call
    def create(self, *, accounts: Sequence[str], key: str | None = None, **fields: Unpack[NewPost]) -> ApiRequest[Made]:
        """Publishes now, or `at` a time. Sent again with the same `key`, it is answered the same and made once.

        What was published just now is refused as a duplicate, unless `allow_duplicate` says that it is meant.
        """
        return send("POST", "posts", body={"accounts": check_accounts(accounts), **fields}, key=ensure_key(key))

    @call
    def preview(self, *, accounts: Sequence[str], **fields: Unpack[NewPost]) -> ApiRequest[Previewed]:
        """How it would look, and what speaks against it; nothing is made."""
        return send("POST", "posts", body={"accounts": check_accounts(accounts), "preview": True, **fields})

    @call
    def validate(self, *, accounts: Sequence[str], **fields: Unpack[NewPost]) -> ApiRequest[Judged]:
        """All that speaks against it, account by account; nothing is made."""
        return send("POST", "posts", "validate", body={"accounts": check_accounts(accounts), **fields})

    @call
    def page(self, **filters: Unpack[PostsWanted]) -> ApiRequest[Page[Post]]:
        """Some of them, the newest first; `cursor` is the `next_cursor` of the page before."""
        return get("posts", **to_query(filters))

    @paginate
    def each(self, **filters: Unpack[PostsWanted]) -> ApiRequest[Page[Post]]:
        """All of them, the newest first."""
        return get("posts", **to_query(filters))

    @call
    def get(self, post_id: Id) -> ApiRequest[PostDetails]:
        """One post, with its history."""
        return get("posts", post_id)

    @call
    def content(self, content_id: Id) -> ApiRequest[Content]:
        """What was said, and how it stands on all its accounts together."""
        return get("contents", content_id)

    @call
    def explain(self, post_id: Id, *, timezone: str | None = None) -> ApiRequest[Explained]:
        """Why it has not gone out."""
        return get("posts", post_id, "explain", timezone=timezone)

    @call
    def edit(self, post_id: Id, **changes: Unpack[Changes]) -> ApiRequest[ChangedPost]:
        """What it says, or `at`; one after the other. What is left out stays."""
        return send("PATCH", "posts", post_id, body=changes)

    @call
    def cancel(self, post_id: Id, *, reason: str = "") -> ApiRequest[Post]:
        """While nothing of it has been sent."""
        return post("posts", post_id, "cancel", reason=reason)

    @call
    def publish_now(self, post_id: Id, *, allow_blackout: bool = False, reason: str = "") -> ApiRequest[Post]:
        """Instead of later."""
        return post("posts", post_id, "publish-now", allow_blackout=allow_blackout, reason=reason)

    @call
    def replay(self, post_id: Id, *, force: bool = False, reason: str = "") -> ApiRequest[Post]:
        """Publishes a failed one again."""
        return post("posts", post_id, "replay", force=force, reason=reason)

    @call
    def resolve(self, post_id: Id, verdict: Verdict, *, reason: str, remote_id: str | None = None) -> ApiRequest[Post]:
        """A person's word about an uncertain one; `live` needs its `remote_id`."""
        return post("posts", post_id, "resolve", verdict=verdict, reason=reason, remote_id=remote_id)


class Drafts(Resource[SessionT]):
    @call
    def create(self, *, key: str | None = None, **fields: Unpack[DraftSaid]) -> ApiRequest[Draft]:
        """Keeps a post that is not to be made yet."""
        return send("POST", "drafts", body=fields, key=ensure_key(key))

    @call
    def page(self, *, limit: int | None = None, cursor: str | None = None) -> ApiRequest[Page[Draft]]:
        """Some of them, the newest first."""
        return get("drafts", limit=limit, cursor=cursor)

    @paginate
    def each(self, *, limit: int | None = None) -> ApiRequest[Page[Draft]]:
        """All of them, the newest first."""
        return get("drafts", limit=limit)

    @call
    def get(self, draft_id: Id) -> ApiRequest[Draft]:
        return get("drafts", draft_id)

    @call
    def edit(self, draft_id: Id, **changes: Unpack[DraftSaid]) -> ApiRequest[Draft]:
        """What is None is taken away."""
        return send("PATCH", "drafts", draft_id, body=changes)

    @call
    def remove(self, draft_id: Id) -> ApiRequest[Draft]:
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
    ) -> ApiRequest[Made]:
        """Makes posts of it, `at` a time or as it says; the draft is gone then."""
        allowed = {"allow_duplicate": allow_duplicate, "allow_blackout": allow_blackout}
        return post("drafts", draft_id, "schedule", at=at, timezone=timezone, **allowed, key=ensure_key(key))


class Imports(Resource[SessionT]):
    @call
    def check(self, file: bytes | str | Path, *, timezone: str | None = None) -> ApiRequest[Import]:
        """Looks at every line of a CSV file, given by its path or as what is in it; nothing is made."""
        return csv(read_bytes(file), timezone=timezone)

    @call
    def save(self, token: str) -> ApiRequest[Import]:
        """Makes the posts of a file that was checked; saved again it makes none twice."""
        return csv(b"", commit=True, token=token)

    @call
    def get(self, import_id: Id) -> ApiRequest[Import]:
        """How far it has come, and what is wrong with which line."""
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
            told = f"file: give a pathlib.Path, or what is in it as bytes or text, not a {type(file).__name__}."
            raise WrongUse(f"{told} Nothing was sent.", "file")


def read_path(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongUse(f"file: {path} cannot be read: {error.strerror}. Nothing was sent.", "file") from None


def csv(file: bytes, **query: object) -> ApiRequest[Any]:
    return replace(send("POST", "imports"), body=file, content_type="text/csv", query=build_query(query))
