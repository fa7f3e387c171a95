"""The handler of posts: opens the account, and lets its network publish through the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from postino.errors import NotFound, WrongUse
from postino.publishing.accounts import AccountService
from postino.rules.settlement import TOO_LATE
from postino.values.job import Job
from postino.values.ledger import CallPolicy, GuardedCall
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry
from postino.values.provider import Account, Failure, Kind, Media, NoAnswer, NotSent, Post, Provider, Tokens
from postino.vault.vault import VaultError


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPayload:
    url: str
    kind: str = "image"
    alt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostPayload:
    """What a post's job carries: the finished text, and what goes with it."""

    parts: tuple[str, ...]
    title: str | None = None
    media: tuple[MediaPayload, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    publish_until_at: datetime | None = None


class TokenRefused(BaseException):
    """The network does not take the account's credentials. Past whatever a network's own code catches."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Publisher:
    def __init__(
        self, accounts: AccountService, networks: Mapping[str, Provider], *, patience: float, send_within: float
    ) -> None:
        self.accounts = accounts
        self.networks = networks
        self.patience = patience
        self.send_within = timedelta(seconds=send_within)

    async def publish(self, job: Job, payload: PostPayload, call: GuardedCall) -> Outcome:
        if is_too_late(job, payload.publish_until_at) and not await self.accounts.is_out(job):
            return Reject(TOO_LATE, missed=True)
        network = self.networks.get(job.channel)
        if network is None or job.account is None:
            return Retry(f"This worker knows no network {job.channel!r}. Start one that does.")
        try:
            account = await self.accounts.open(job.account)
        except NotFound as error:
            return Reject(str(error))
        except VaultError as error:
            return await self.held(job.account, str(error))
        except WrongUse as error:
            return Retry(str(error))
        try:
            return await self.publish_as(account, network, job, payload, call)
        except TokenRefused as refused:
            fresh = await self.refreshed(account, network, refused.failure, call)
        if not isinstance(fresh, Account):
            return fresh
        try:
            return await self.publish_as(fresh, network, job, payload, call)
        except TokenRefused as refused:
            return await self.refused(fresh, refused.failure)

    async def publish_as(
        self, account: Account, network: Provider, job: Job, payload: PostPayload, call: GuardedCall
    ) -> Outcome:
        published = await network.publish(
            post_of(job, payload, account), call.with_policy(self.manners(network, account))
        )
        return Done({"url": published.url}, published.remote_id)

    async def refreshed(
        self, account: Account, network: Provider, why: Failure, call: GuardedCall
    ) -> Account | Outcome:
        """Once in an attempt. New tokens are kept before they are used; a failure that may pass disconnects nobody."""
        try:
            tokens = await network.refresh(account, call.with_policy(self.manners(network, account)).http)
        except (NotSent, NoAnswer) as error:
            return Retry(f"{why.message} New ones could not be had: {error}")
        if isinstance(tokens, Tokens):
            return await self.accounts.renew(account, tokens)
        if tokens.kind in (Kind.AUTH, Kind.PERMANENT):
            return await self.refused(account, tokens)
        if tokens.kind is Kind.RATE_LIMIT:
            return await call.handle_failure(tokens)
        return Retry(f"{why.message} New ones could not be had: {tokens.message}", tokens.until)

    async def refused(self, account: Account, failure: Failure) -> Outcome:
        if not await self.accounts.still_has(account):
            return Defer(datetime.now(UTC), f"{account.id} was connected anew meanwhile.")
        return await self.held(account.id, failure.message)

    async def held(self, account: str, why: str) -> Outcome:
        """Not failed: connected again, the account publishes what waits for it."""
        await self.accounts.hold(account, why)
        return Defer(datetime.now(UTC), f"{why} Posts of {account} wait until it is connected again.")

    def manners(self, network: Provider, account: Account) -> CallPolicy:
        async def refused(failure: Failure) -> None:
            if failure.kind is Kind.AUTH:
                raise TokenRefused(failure)

        return CallPolicy(
            timeout=network.timeout * self.patience,
            visibility=network.visibility * self.patience,
            send_within=self.send_within,
            secrets=frozenset(account.credentials.values()),
            public=True,
            on_failure=refused,
        )


def post_of(job: Job, payload: PostPayload, account: Account) -> Post:
    return Post(
        id=job.id,
        account=account,
        parts=payload.parts,
        title=payload.title,
        media=tuple(Media(url=media.url, kind=media.kind, alt=media.alt) for media in payload.media),
        created_at=job.created_at,
        options=payload.options,
    )


def is_too_late(job: Job, until: datetime | None) -> bool:
    """By the store's clock. What a person replays is wanted all the same."""
    return until is not None and job.generation == 1 and (job.claimed_at or until) > until
