"""Schedule, edit, reschedule and publish posts. One content becomes one post, and one job, for each account."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from postino import clock
from postino.publishing.blackouts import (
    InBlackout,
    describe_delays,
    find_blackouts,
    find_common_free_time,
    respects_blackouts,
)
from postino.publishing.contents import load_content
from postino.publishing.post_builder import build_content, build_key, build_posts
from postino.publishing.post_request import UNSET, PostRequest, Unset, check_times, check_until
from postino.publishing.post_validation import InvalidPost, PostPreview, PostValidator
from postino.stores.records import AuditContext, NewJob
from postino.stores.store import Store
from postino.values.content import Content
from postino.values.job import Job
from postino.values.post import (
    Draft,
    NewPosts,
    PostFilter,
    PostPage,
    ResponseRecorder,
    SavedPost,
    StoredAccount,
    StoredPost,
)

NEW_POST_ADVICE = "give that time as `at`, or publish now with `allow_blackout`."
KNOWN_POST_ADVICE = "reschedule the post to that time, or publish it now with `allow_blackout`."


class PostService:
    def __init__(
        self,
        store: Store,
        validator: PostValidator,
        create: Callable[[NewPosts], Awaitable[Sequence[SavedPost]]],
        wake: Callable[[Sequence[Job]], None],
    ) -> None:
        self.store = store
        self.validator = validator
        self.create = create
        self.wake = wake

    async def schedule(
        self,
        request: PostRequest,
        *,
        once: ResponseRecorder | None = None,
        draft: Draft | None = None,
        accounts: Sequence[StoredAccount] | None = None,
    ) -> list[SavedPost]:
        """Create the posts of a request, all or none. A post whose idempotency key is known is returned as it is.

        With `once` the response is stored with the posts. The result is empty if one was stored before.
        Raises InvalidPost if a network would refuse the content, InBlackout if it cannot be published now.
        """
        previews = await self.validator.preview(request, accounts)
        if any(preview.errors for preview in previews):
            raise InvalidPost(previews)
        content = build_content(request, [preview.account for preview in previews])
        built = await self.validator.turns.run(lambda: build_posts(request, previews))
        if request.at is None and not request.allow_blackout:
            new_jobs = [job for _, job in built if not await self.is_known(job)]
            await self.check_no_blackout(new_jobs, NEW_POST_ADVICE)
        posts, jobs = [post for post, _ in built], [job for _, job in built]
        written = await self.create(NewPosts(content=content, posts=posts, jobs=jobs, once=once, draft=draft))
        self.wake([one.post.job for one in written])
        return [*written]

    async def describe_objections(self, request: PostRequest, previews: Sequence[PostPreview]) -> list[str]:
        """Return why the request would be refused although its content is valid: blackouts."""
        if request.at is not None or request.allow_blackout:
            return []
        jobs = [job for _, job in await self.validator.turns.run(lambda: build_posts(request, previews))]
        try:
            await self.check_no_blackout(jobs, NEW_POST_ADVICE, "Published now it would be refused.")
        except InBlackout as refusal:
            return [str(refusal)]
        return []

    async def edit(
        self, post_id: UUID, content: Content, act: AuditContext, *, publish_until_at: datetime | Unset | None = UNSET
    ) -> StoredPost:
        """Replace the content of a post of which nothing was sent. The new content is validated like a new post."""
        self.validator.check_networks(content)
        before = await self.store.post(post_id)
        account = await self.get_account(before.job.account or "")
        (preview,) = await self.validator.turns.run(lambda: self.validator.preview_content(content, [account]))
        if preview.errors:
            raise InvalidPost([preview], "Nothing was changed.")
        request = PostRequest(
            content=content,
            accounts=(preview.account.id,),
            at=before.job.scheduled_at,
            publish_until_at=before.publish_until_at if isinstance(publish_until_at, Unset) else publish_until_at,
        )
        if not isinstance(publish_until_at, Unset):
            check_until(request, clock.now())
        ((post, job),) = build_posts(request, [preview])
        new_content = build_content(request, [preview.account], {preview.account.network})
        new_content = replace(new_content, user_id=before.job.user_id)
        assert job.key is not None
        await self.store.edit_post(post_id, new_content, post, job.payload, job.key, act)
        return await self.store.post(post_id)

    async def reschedule(self, post_id: UUID, at: datetime, act: AuditContext) -> StoredPost:
        """Move a post of which nothing was sent to another time.

        The post gets the idempotency key of its new time, so that the same request later finds this post.
        """
        before = await self.store.post(post_id)
        request = PostRequest(content=load_content(before.content), accounts=(before.job.account or "",), at=at)
        request = replace(request, publish_until_at=before.publish_until_at)
        check_times(request, clock.now())
        key = build_key(request, await self.get_account(request.accounts[0]))
        assert key is not None
        self.wake([await self.store.reschedule_post(post_id, at, key, act)])
        return await self.store.post(post_id)

    async def publish_now(self, post_id: UUID, act: AuditContext, *, allow_blackout: bool = False) -> StoredPost:
        """Publish a scheduled post now, ahead of scheduled posts. Raises InBlackout unless `allow_blackout`."""
        if not allow_blackout:
            await self.check_can_publish_now(post_id)
        self.wake([await self.store.publish_post_now(post_id, act, ignore_blackouts=allow_blackout)])
        return await self.store.post(post_id)

    async def check_can_publish_now(self, post_id: UUID) -> None:
        """Raise InBlackout if a blackout holds the post now."""
        job = (await self.store.post(post_id)).job
        if respects_blackouts(job):
            await self.check_no_blackout([job], KNOWN_POST_ADVICE)

    async def check_no_blackout(
        self, jobs: Sequence[Job | NewJob], advice: str, consequence: str = "Nothing was changed."
    ) -> None:
        """Raise InBlackout if one of these jobs is in a blackout now."""
        known, now = await self.store.gate_sources()
        conflicts = find_blackouts(known.blackouts, jobs, now)
        if conflicts:
            raise InBlackout(conflicts, find_common_free_time(known.blackouts, jobs, now), advice, consequence)

    async def describe_blackouts(self, posts: Sequence[StoredPost]) -> list[str]:
        """Return a note for each post whose scheduled time is in a blackout: when it will be published instead."""
        known, now = await self.store.gate_sources()
        return describe_delays(known.blackouts, posts, now)

    async def is_known(self, job: NewJob) -> bool:
        return job.key is not None and await self.store.job_by_key(job.channel, job.key) is not None

    async def get(self, post_id: UUID) -> StoredPost:
        return await self.store.post(post_id)

    async def list(self, filter: PostFilter) -> Sequence[StoredPost]:
        return await self.store.posts(filter)

    async def page(self, filter: PostFilter) -> PostPage:
        return await self.store.posts_page(filter)

    async def get_account(self, name: str) -> StoredAccount:
        return self.validator.check_account(await self.store.account(name))
