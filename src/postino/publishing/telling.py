"""How posts stand, told to whoever asks: read and derived each time, never stored."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.publishing import shapes
from postino.publishing.blackouts import notes_of
from postino.rules.blackout import Blackout
from postino.rules.gates import Known, closed
from postino.rules.post_status import STATUS, Flag, PostStatus, Standing, content_status
from postino.stores.store import Store
from postino.values.gate import Gate
from postino.values.job import State
from postino.values.post import Place, PostFilter, StoredPost, Written

Look = Callable[[], Awaitable[tuple[Known, Sequence[Gate], datetime]]]
MOST_POSTS = 1000  # of one content
MOST_PAGES, MOST_LOOKED_AT = 5, 200  # that one answer looks through for posts with a flag


@dataclass(frozen=True, slots=True)
class View:
    """What posts are seen by at one moment; with it they are told without looking anywhere."""

    gates: Sequence[Gate]
    blackouts: Sequence[Blackout]
    now: datetime
    most_attempts: Callable[[str], int | None]

    def standing(self, post: StoredPost) -> Standing:
        return shapes.standing_of(post, self.gates, self.most_attempts(post.job.channel), self.now)

    def posts(self, posts: Sequence[StoredPost]) -> list[dict[str, Any]]:
        return [shapes.of_post(post, self.standing(post)) for post in posts]

    def notes(self, posts: Sequence[StoredPost]) -> list[str]:
        return notes_of(self.blackouts, posts, self.now)


class Teller:
    def __init__(self, store: Store, most_attempts: Callable[[str], int | None], look: Look) -> None:
        self.store = store
        self.most_attempts = most_attempts  # of a network's posts
        self.look = look  # at the gates

    async def view(self) -> View:
        known, gates, now = await self.look()
        return View(closed(replace(known, gates=tuple(gates)), now).gates, known.blackouts, now, self.most_attempts)

    async def standings(self, posts: Sequence[StoredPost]) -> list[Standing]:
        return [*map((await self.view()).standing, posts)]

    async def posts(self, posts: Sequence[StoredPost]) -> list[dict[str, Any]]:
        return (await self.view()).posts(posts)

    async def page(self, wanted: PostFilter, flags: frozenset[Flag] = frozenset()) -> tuple[list[dict[str, Any]], Any]:
        """Those that fit and have one of the flags; and where to go on, even where few or none were found."""
        view = await self.view()
        states = tuple(state for state in wanted.states or tuple(State) if state in may_have(flags))
        if flags and not states:
            return [], None
        found: list[StoredPost] = []
        limit = wanted.limit
        wanted = replace(wanted, states=states, limit=MOST_LOOKED_AT) if flags else wanted
        for _ in range(MOST_PAGES if flags else 1):
            page = await self.store.posts_page(wanted)
            found += [post for post in page.posts if not flags or flags & view.standing(post).flags.keys()]
            if page.next is None or len(found) >= limit:
                break
            wanted = replace(wanted, before=page.next.id, before_at=page.next.at)
        place = page.next
        if len(found) > limit:
            found = found[:limit]
            place = Place(found[-1].job.id, found[-1].job.scheduled_at)
        return view.posts(found), place

    async def post(self, post: StoredPost) -> dict[str, Any]:
        return (await self.posts([post]))[0]

    async def details(self, post: StoredPost) -> dict[str, Any]:
        """With every try, step, intent and receipt; why it failed, or by whom and why it was cancelled."""
        history, ledger = await self.store.attempts(post.job.id), await self.store.ledger(post.job.id)
        told = await self.post(post) | shapes.of_history(history, ledger)
        if post.job.state not in (State.FAILED, State.CANCELLED):
            return told | {"cause": None, "cancelled": None}
        facts = (await self.store.explain_input(post.job)).facts
        return told | {"cause": facts.cause, "cancelled": facts.cancelled}

    async def content(self, content_id: UUID, brands: frozenset[str] | None = None) -> dict[str, Any]:
        found = await self.store.posts(PostFilter(content_id=content_id, brands=brands, limit=MOST_POSTS))
        if not found:
            raise NotFound(f"There is no content {content_id} that a post has.")
        standings = await self.standings(found)
        told: dict[str, Any] = shapes.of_content(
            content_id, found[0].content, [*map(shapes.of_post, found, standings)], standings
        )
        return told


def may_have(flags: frozenset[Flag]) -> frozenset[State]:
    """In which states a post can have one of these flags."""
    live = {State.PENDING, State.RUNNING} if flags else set(State)
    return frozenset(live | ({State.COMPLETED} if Flag.LATE in flags else set()))


def together(posts: Sequence[dict[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """What was made of one wish. For a single account it is also the post itself: a simple client need not look into
    `posts`.
    """
    whole = {
        "content_id": posts[0]["content_id"],
        "status": content_status(PostStatus(post["status"]) for post in posts).value,
    }
    return (whole if len(posts) > 1 else posts[0]) | {"posts": [*posts], "notes": [*notes]}


def known_already(written: Sequence[Written]) -> list[str]:
    """What to say of posts whose key was known, where they are no longer as they were asked for."""
    notes = []
    for one in written:
        job = one.post.job
        if one.created:
            continue
        match STATUS[job.state]:
            case PostStatus.CANCELLED:
                said = "was cancelled, and that is final. To publish it all the same, say so with `allow_duplicate`."
            case PostStatus.FAILED:
                said = f"failed: {job.last_error} Replay it to publish it all the same."
            case _ if one.post.version > 1:
                said = "was edited since. It goes out as it was edited."
            case status:
                when = "" if job.run_at is None else f" for {job.scheduled_at:%Y-%m-%d %H:%M} UTC"
                said = f"is {status}{when}. This call changed nothing."
        notes.append(f"Post {job.id} ({job.account}) is the same, and {said}")
    return notes
