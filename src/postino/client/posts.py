"""Posts, and what may become some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from postino.client.house_shapes import Import
from postino.client.messages import Request, get, post, query_of, send
from postino.client.shapes import ChangedPost, Content, Draft, Explained, Judged, Made, Post, PostDetails, Previewed
from postino.client.ways import Room, Way, asks, walks
from postino.client.wishes import Changes, DraftSaid, Id, Instant, NewPost, PostsWanted, Verdict
from postino.client.words import Page
from postino.errors import WrongUse


def anew(key: str | None) -> str:
    """The caller's key, or one by which this very request is known if it has to be sent again."""
    return str(uuid4()) if key is None else key


def several(accounts: Sequence[str]) -> list[str]:
    """One name alone would be taken apart, letter by letter."""
    if isinstance(accounts, str):
        raise WrongUse(f"accounts: give a list, such as [{accounts[:100]!r}]. Nothing was sent.", "accounts")
    return [*accounts]


def wanted(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removesuffix("_at"): value for name, value in said.items()}


class Posts(Room[Way]):
    @asks
    def create(self, *, accounts: Sequence[str], key: str | None = None, **said: Unpack[NewPost]) -> Request[Made]:
        """Publishes now, or `at` a time. Sent again with the same `key`, it is answered the same and made once.

        What was published just now is refused as a duplicate, unless `allow_duplicate` says that it is meant.
        """
        return send("POST", "posts", body={"accounts": several(accounts), **said}, key=anew(key))

    @asks
    def preview(self, *, accounts: Sequence[str], **said: Unpack[NewPost]) -> Request[Previewed]:
        """How it would look, and what speaks against it; nothing is made."""
        return send("POST", "posts", body={"accounts": several(accounts), "preview": True, **said})

    @asks
    def validate(self, *, accounts: Sequence[str], **said: Unpack[NewPost]) -> Request[Judged]:
        """All that speaks against it, account by account; nothing is made."""
        return send("POST", "posts", "validate", body={"accounts": several(accounts), **said})

    @asks
    def page(self, **filters: Unpack[PostsWanted]) -> Request[Page[Post]]:
        """Some of them, the newest first; `cursor` is the `next_cursor` of the page before."""
        return get("posts", **wanted(filters))

    @walks
    def each(self, **filters: Unpack[PostsWanted]) -> Request[Page[Post]]:
        """All of them, the newest first."""
        return get("posts", **wanted(filters))

    @asks
    def get(self, post_id: Id) -> Request[PostDetails]:
        """One post, with its history."""
        return get("posts", post_id)

    @asks
    def content(self, content_id: Id) -> Request[Content]:
        """What was said, and how it stands on all its accounts together."""
        return get("contents", content_id)

    @asks
    def explain(self, post_id: Id, *, timezone: str | None = None) -> Request[Explained]:
        """Why it has not gone out."""
        return get("posts", post_id, "explain", timezone=timezone)

    @asks
    def edit(self, post_id: Id, **changes: Unpack[Changes]) -> Request[ChangedPost]:
        """What it says, or `at`; one after the other. What is left out stays."""
        return send("PATCH", "posts", post_id, body=changes)

    @asks
    def cancel(self, post_id: Id, *, reason: str = "") -> Request[Post]:
        """While nothing of it has been sent."""
        return post("posts", post_id, "cancel", reason=reason)

    @asks
    def publish_now(self, post_id: Id, *, allow_blackout: bool = False, reason: str = "") -> Request[Post]:
        """Instead of later."""
        return post("posts", post_id, "publish-now", allow_blackout=allow_blackout, reason=reason)

    @asks
    def replay(self, post_id: Id, *, force: bool = False, reason: str = "") -> Request[Post]:
        """Publishes a failed one again."""
        return post("posts", post_id, "replay", force=force, reason=reason)

    @asks
    def resolve(self, post_id: Id, verdict: Verdict, *, reason: str, remote_id: str | None = None) -> Request[Post]:
        """A person's word about an uncertain one; `live` needs its `remote_id`."""
        return post("posts", post_id, "resolve", verdict=verdict, reason=reason, remote_id=remote_id)


class Drafts(Room[Way]):
    @asks
    def create(self, *, key: str | None = None, **said: Unpack[DraftSaid]) -> Request[Draft]:
        """Keeps a post that is not to be made yet."""
        return send("POST", "drafts", body=said, key=anew(key))

    @asks
    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[Draft]]:
        """Some of them, the newest first."""
        return get("drafts", limit=limit, cursor=cursor)

    @walks
    def each(self, *, limit: int | None = None) -> Request[Page[Draft]]:
        """All of them, the newest first."""
        return get("drafts", limit=limit)

    @asks
    def get(self, draft_id: Id) -> Request[Draft]:
        return get("drafts", draft_id)

    @asks
    def edit(self, draft_id: Id, **changes: Unpack[DraftSaid]) -> Request[Draft]:
        """What is None is taken away."""
        return send("PATCH", "drafts", draft_id, body=changes)

    @asks
    def remove(self, draft_id: Id) -> Request[Draft]:
        return send("DELETE", "drafts", draft_id)

    @asks
    def schedule(
        self,
        draft_id: Id,
        *,
        at: Instant | None = None,
        timezone: str | None = None,
        allow_duplicate: bool = False,
        allow_blackout: bool = False,
        key: str | None = None,
    ) -> Request[Made]:
        """Makes posts of it, `at` a time or as it says; the draft is gone then."""
        allowed = {"allow_duplicate": allow_duplicate, "allow_blackout": allow_blackout}
        return post("drafts", draft_id, "schedule", at=at, timezone=timezone, **allowed, key=anew(key))


class Imports(Room[Way]):
    @asks
    def check(self, file: bytes | str | Path, *, timezone: str | None = None) -> Request[Import]:
        """Looks at every line of a CSV file, given by its path or as what is in it; nothing is made."""
        return csv(bytes_of(file), timezone=timezone)

    @asks
    def save(self, token: str) -> Request[Import]:
        """Makes the posts of a file that was checked; saved again it makes none twice."""
        return csv(b"", commit=True, token=token)

    @asks
    def get(self, import_id: Id) -> Request[Import]:
        """How far it has come, and what is wrong with which line."""
        return get("imports", import_id)


def bytes_of(file: object) -> bytes:
    match file:
        case bytes():
            return file
        case str():
            return file.encode()
        case Path():
            return read(file)
        case _:
            told = f"file: give a pathlib.Path, or what is in it as bytes or text, not a {type(file).__name__}."
            raise WrongUse(f"{told} Nothing was sent.", "file")


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongUse(f"file: {path} cannot be read: {error.strerror}. Nothing was sent.", "file") from None


def csv(file: bytes, **query: object) -> Request[Any]:
    return replace(send("POST", "imports"), body=file, kind="text/csv", query=query_of(query))
