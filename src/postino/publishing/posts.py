"""Posts: one content to many accounts, each post its own job; refused early where its network would refuse it."""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TypeVar
from uuid import UUID

from postino.errors import NotFound, WrongUse
from postino.publishing.blackouts import InBlackout, free_for_all, meetings, minds, notes_of
from postino.publishing.contents import content_from, text_of, words_of
from postino.publishing.publisher import MediaPayload, PostPayload
from postino.rules.idempotency import content_key, fingerprint, job_key
from postino.rules.limits import Limits, check
from postino.rules.local_time import told_at
from postino.rules.media import kind_of
from postino.rules.rendering import Rendered, render
from postino.stores.records import AuditContext, NewJob
from postino.stores.store import Store
from postino.values.content import Content, Problem, Severity, check_networks
from postino.values.job import Job, Queue, new_id
from postino.values.post import (
    POST,
    Draft,
    NewContent,
    NewPost,
    NewPosts,
    Once,
    PostFilter,
    PostPage,
    StoredAccount,
    StoredPost,
    Written,
    no_account,
)

WHEN_ELSE = "give that as `at`, or publish now all the same with `allow_blackout`."
LATER_ELSE = "reschedule it to that time, or publish it now all the same with `allow_blackout`."
LONG_PAST = timedelta(minutes=5)  # a clock that goes wrong, a form that was open for a while


class Unset(Enum):
    """Nothing was said about it: it stays as it is."""

    UNSET = "kept"


UNSET = Unset.UNSET
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRequest:
    """What somebody wants published, by whom and when; no time: now."""

    content: Content
    accounts: tuple[str, ...]
    at: datetime | None = None
    publish_until_at: datetime | None = None
    key: str | None = None
    allow_duplicate: bool = False
    allow_blackout: bool = False
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class PostPreview:
    """How it would look on one account, and what speaks against it."""

    account: StoredAccount
    rendered: Rendered
    problems: tuple[Problem, ...]


class InvalidPost(WrongUse):
    """A network would refuse it. All that speaks against it, account by account."""

    def __init__(self, previews: Sequence[PostPreview], undone: str = "Nothing was queued.") -> None:
        faults = [(preview, problem) for preview in previews for problem in errors(preview)]
        told = " ".join(f"{preview.account.id}: {problem.message}" for preview, problem in faults)
        super().__init__(f"{undone} {told}", field=faults[0][1].field)
        self.previews = previews


class PostService:
    def __init__(
        self,
        store: Store,
        limits: Mapping[str, Limits],
        network_titles: Mapping[str, str],
        create: Callable[[NewPosts], Awaitable[Sequence[Written]]],
        wake: Callable[[Sequence[Job]], None],
        unfetchable: Callable[[str], str | None],
    ) -> None:
        self.store = store
        self.limits = limits
        self.network_titles = network_titles
        self.create = create
        self.wake = wake
        self.turn = asyncio.Lock()
        self.unfetchable = unfetchable  # why an address is never fetched; None: nothing speaks against it

    async def preview(
        self, wish: PostRequest, accounts: Sequence[StoredAccount] | None = None
    ) -> Sequence[PostPreview]:
        """Checks and renders; nothing is queued, no key is used, nothing leaves. Known accounts are not read."""
        check_times(wish, datetime.now(UTC))
        self.check_networks(wish.content)
        if not wish.accounts:
            raise WrongUse("accounts: name at least one account that publishes it.", field="accounts")
        known = {account.id: account for account in accounts or await self.store.accounts_by_id(wish.accounts)}
        for name in wish.accounts:
            if name not in known:
                raise NotFound(no_account(name))
        named = [self.publishes(known[name]) for name in dict.fromkeys(wish.accounts)]
        return await self.in_turn(lambda: self.previewed(wish.content, named))

    async def schedule(
        self,
        wish: PostRequest,
        *,
        once: Once | None = None,
        draft: Draft | None = None,
        accounts: Sequence[StoredAccount] | None = None,
    ) -> list[Written]:
        """All or none. With a time it is a plan, without one it goes out now. A known key brings the known post.

        With `once` what is answered is kept with the posts: nothing comes back where it was answered before.
        """
        previews = await self.preview(wish, accounts)
        if any(errors(preview) for preview in previews):
            raise InvalidPost(previews)
        content = content_of(wish, previews[0].account.brand)
        made = await self.in_turn(lambda: posts_of(wish, previews))
        if wish.at is None and not wish.allow_blackout:
            await self.check_open([job for _, job in made if not await self.knows(job)], WHEN_ELSE)
        posts, jobs = [post for post, _ in made], [job for _, job in made]
        written = await self.create(NewPosts(content=content, posts=posts, jobs=jobs, once=once, draft=draft))
        self.wake([one.post.job for one in written])
        return [*written]

    async def objections(self, wish: PostRequest, previews: Sequence[PostPreview]) -> list[str]:
        """Why the wish would be refused although its contents would not."""
        if wish.at is not None or wish.allow_blackout:
            return []
        jobs = [job for _, job in await self.in_turn(lambda: posts_of(wish, previews))]
        try:
            await self.check_open(jobs, WHEN_ELSE, "Published now it would be refused.")
        except InBlackout as refusal:
            return [str(refusal)]
        return []

    async def edit(
        self, post_id: UUID, content: Content, act: AuditContext, *, publish_until_at: datetime | Unset | None = UNSET
    ) -> StoredPost:
        """Only while nothing has been sent; what it became is checked like a new one."""
        self.check_networks(content)
        before = await self.store.post(post_id)
        account = await self.account(before.job.account or "")
        (preview,) = await self.in_turn(lambda: self.previewed(content, [account]))
        if errors(preview):
            raise InvalidPost([preview], "Nothing was changed.")
        wish = PostRequest(
            content=content,
            accounts=(preview.account.id,),
            at=before.job.scheduled_at,
            publish_until_at=before.publish_until_at if isinstance(publish_until_at, Unset) else publish_until_at,
        )
        if not isinstance(publish_until_at, Unset):
            check_until(wish, datetime.now(UTC))
        ((post, job),) = posts_of(wish, [preview])
        said = replace(content_of(wish, preview.account.brand), user_id=before.job.user_id)
        assert job.key is not None
        await self.store.edit_post(post_id, said, post, job.payload, job.key, act)
        return await self.store.post(post_id)

    async def reschedule(self, post_id: UUID, at: datetime, act: AuditContext) -> StoredPost:
        """Only while nothing has been sent. The plan it becomes is its own, so nobody makes it a second time."""
        before = await self.store.post(post_id)
        wish = PostRequest(content=content_from(before.content), accounts=(before.job.account or "",), at=at)
        wish = replace(wish, publish_until_at=before.publish_until_at)
        check_times(wish, datetime.now(UTC))
        key = key_of(wish, await self.account(wish.accounts[0]))
        assert key is not None
        self.wake([await self.store.reschedule_post(post_id, at, key, act)])
        return await self.store.post(post_id)

    async def hurry(self, post_id: UUID, act: AuditContext, *, allow_blackout: bool = False) -> StoredPost:
        """Publishes a planned post now, before what is only planned; only while nothing has been sent."""
        if not allow_blackout:
            await self.check_now(post_id)
        self.wake([await self.store.publish_post_now(post_id, act, regardless=allow_blackout)])
        return await self.store.post(post_id)

    async def check_now(self, post_id: UUID) -> None:
        """Refuses to publish a planned post now while it is in a blackout."""
        job = (await self.store.post(post_id)).job
        if minds(job):
            await self.check_open([job], LATER_ELSE)

    async def check_open(
        self, jobs: Sequence[Job | NewJob], otherwise: str, undone: str = "Nothing was changed."
    ) -> None:
        """Refuses what was to go out at once and meets a blackout."""
        known, now = await self.store.known_gates()
        met = meetings(known.blackouts, jobs, now)
        if met:
            raise InBlackout(met, free_for_all(known.blackouts, jobs, now), otherwise, undone)

    async def notes(self, posts: Sequence[StoredPost]) -> list[str]:
        """What to say of plans that meet a blackout: when they really go out."""
        known, now = await self.store.known_gates()
        return notes_of(known.blackouts, posts, now)

    async def knows(self, job: NewJob) -> bool:
        return job.key is not None and await self.store.job_by_key(job.channel, job.key) is not None

    async def get(self, post_id: UUID) -> StoredPost:
        return await self.store.post(post_id)

    async def list(self, wanted: PostFilter) -> Sequence[StoredPost]:
        return await self.store.posts(wanted)

    async def page(self, wanted: PostFilter) -> PostPage:
        return await self.store.posts_page(wanted)

    async def account(self, name: str) -> StoredAccount:
        return self.publishes(await self.store.account(name))

    def check_networks(self, content: Content) -> Content:
        """What is said otherwise must be for networks that there are."""
        check_networks(content, self.network_titles)
        return content

    def publishes(self, account: StoredAccount) -> StoredAccount:
        if account.network not in self.limits:
            told = f"Postino does not publish to {self.network_titles.get(account.network, account.network)} yet."
            raise WrongUse(f"accounts: {account.id}: {told}", field="accounts")
        return account

    async def in_turn(self, act: Callable[[], T]) -> T:
        """What takes a while: of many at once each by itself, and whatever else there is to do in between."""
        await self.come_to_turn()
        return act()

    async def come_to_turn(self) -> None:
        """Who comes here next does so only after everybody else has had the loop."""
        async with self.turn:
            await asyncio.sleep(0)

    def previewed(self, content: Content, accounts: Sequence[StoredAccount]) -> Sequence[PostPreview]:
        """On each account; what all those of a network have in common is looked at once."""
        looks = {network: self.looked_at(content, network) for network in {account.network for account in accounts}}
        return [PostPreview(account, *looks[account.network]) for account in accounts]

    def looked_at(self, content: Content, network: str) -> tuple[Rendered, tuple[Problem, ...]]:
        rendered = render(content, network)
        return rendered, (*self.addresses(rendered), *check(rendered, self.limits[network]))

    def addresses(self, rendered: Rendered) -> Iterator[Problem]:
        for number, media in enumerate(rendered.media):
            if why := self.unfetchable(media.url):
                field = rendered.said.where(f"media[{number}].url")
                yield Problem(Severity.ERROR, field, f"{media.url} cannot be fetched: {why}.")


def errors(preview: PostPreview) -> list[Problem]:
    return [problem for problem in preview.problems if problem.severity is Severity.ERROR]


def check_times(wish: PostRequest, now: datetime) -> None:
    if wish.at is not None and wish.at < now - LONG_PAST:
        raise WrongUse(f"at: {told_at(wish.at)} has passed. Leave it out to publish now.", field="at")
    check_until(wish, now)


def check_until(wish: PostRequest, now: datetime) -> None:
    until = wish.publish_until_at
    if until is not None and until <= max(wish.at or now, now):
        told = f"publish_until: {told_at(until)} is not after the time it is to go out."
        raise WrongUse(told, field="publish_until")


def content_of(wish: PostRequest, brand: str | None) -> NewContent:
    return NewContent(
        id=new_id(),
        text=text_of(wish.content),
        words=words_of(wish.content),
        brand=brand,
        user_id=wish.user_id,
    )


def posts_of(wish: PostRequest, previews: Sequence[PostPreview]) -> Sequence[tuple[NewPost, NewJob]]:
    """What is sent is written once for all accounts of a network."""
    payloads = {network: payload_of(wish, it) for network, it in {it.account.network: it for it in previews}.items()}
    return [post_of(wish, preview, payloads[preview.account.network]) for preview in previews]


def payload_of(wish: PostRequest, preview: PostPreview) -> bytes:
    return json.dumps(dataclasses.asdict(letter_of(wish, preview.rendered)), default=datetime.isoformat).encode()


def post_of(wish: PostRequest, preview: PostPreview, payload: bytes) -> tuple[NewPost, NewJob]:
    account, rendered = preview.account, preview.rendered
    job_id = new_id()
    references = [media.reference for media in rendered.media]
    post = NewPost(
        id=job_id,
        account=account.id,
        network=account.network,
        fingerprint=fingerprint(account.id, rendered.parts, references),
        publish_until_at=wish.publish_until_at,
        guard=wish.at is None and wish.key is None and not wish.allow_duplicate,
        regardless=wish.allow_blackout,
    )
    job = NewJob(
        id=job_id,
        type=POST,
        channel=account.network,
        queue=Queue.HIGH if wish.at is None else Queue.DEFAULT,
        payload=payload,
        key=key_of(wish, account),
        run_at=wish.at,
        account=account.id,
        brand=account.brand,
        user_id=wish.user_id,
    )
    return post, job


def key_of(wish: PostRequest, account: StoredAccount) -> str | None:
    """A caller's own, else the plan's; what is published now without one is told apart by its id alone."""
    if wish.key is not None:
        return job_key(wish.key, account.id)
    if wish.at is None or wish.allow_duplicate:
        return None
    return content_key(
        wish.content, brand=account.brand, channel=account.network, account=account.id, scheduled_at=wish.at
    )


def letter_of(wish: PostRequest, rendered: Rendered) -> PostPayload:
    media = tuple(
        MediaPayload(url=media.url, kind=str(kind_of(media) or "image"), alt=media.alt) for media in rendered.media
    )
    return PostPayload(
        parts=rendered.parts,
        title=rendered.title,
        media=media,
        options=dict(rendered.options),
        publish_until_at=wish.publish_until_at,
    )
