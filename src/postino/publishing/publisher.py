"""The handler of posts: open the account, and let its network's provider publish through the ledger.

It decides what the refusal of an account means: refresh its credentials once, or hold its posts until it is
reconnected or no longer suspended.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import structlog

from postino import clock
from postino.errors import Conflict, NotFound, WrongUse
from postino.publishing.accounts import HELD_STATES, AccountService
from postino.publishing.post_payload import PostPayload, to_provider_post
from postino.publishing.vault_keys import MissingVaultKey, WrongVaultKey
from postino.rules.retry import Schedule
from postino.rules.settlement import MISSED_MESSAGE
from postino.values.job import Job
from postino.values.ledger import CallPolicy, GuardedCall
from postino.values.outcome import Defer, Done, GateClosed, Outcome, Reject, Retry
from postino.values.post import AccountState, StoredAccount
from postino.values.provider import (
    Account,
    Failure,
    FailureKind,
    LostResponse,
    NotSent,
    Provider,
    Tokens,
    find_id_scope,
)
from postino.vault.key_file import KeyFileRefused
from postino.vault.vault import VaultError

log = structlog.get_logger("postino.publisher")
MISSING_KEY_DELAY = timedelta(seconds=30)

POST_MAX_ATTEMPTS = 3
# Three attempts use the first two waits. 900 s applies if a job or its channel allows more attempts.
POST_BACKOFF = Schedule([60, 300, 900])
POST_TIME_LIMIT = 120.0  # seconds for one step: longer than the timeout of any request


class AccountRefused(BaseException):
    """The network refuses the credentials or has suspended the account. No provider's code may catch it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Publisher:
    def __init__(
        self, accounts: AccountService, networks: Mapping[str, Provider], *, timeout_factor: float, send_within: float
    ) -> None:
        self.accounts = accounts
        self.networks = networks
        self.timeout_factor = timeout_factor
        self.send_within = timedelta(seconds=send_within)

    async def publish(self, job: Job, payload: PostPayload, call: GuardedCall) -> Outcome:
        if is_too_late(job, payload.publish_until_at) and not job.may_be_live:
            return Reject(MISSED_MESSAGE, missed=True)
        network = self.networks.get(job.channel)
        if network is None or job.account is None:
            reason = f"This worker cannot publish to {job.channel!r}. Start a worker that has this network."
            return Defer(clock.now() + MISSING_KEY_DELAY, reason)
        try:
            stored = await self.accounts.store.account(job.account)
        except NotFound as error:
            return Reject(str(error))
        try:
            account = await self.accounts.unseal(stored)
        except VaultError as error:
            return await self.hold_account(stored, AccountState.LOCKED, str(error))
        except MissingVaultKey as error:
            log.error("vault.refused", error=str(error), next="the post waits for a worker that has this vault key")
            return Defer(clock.now() + MISSING_KEY_DELAY, str(error))
        except (KeyFileRefused, WrongVaultKey) as error:
            # This worker claims nothing more, so other workers take the post at once, in its place.
            return GateClosed(clock.now(), str(error))
        except WrongUse as error:
            return Retry(str(error))
        try:
            return await self.publish_as(account, network, job, payload, call)
        except AccountRefused as refusal:
            if refusal.failure.kind is FailureKind.SUSPENDED:
                return await self.handle_refusal(account, refusal.failure)
            refreshed = await self.refresh_credentials(account, network, refusal.failure, call)
        if not isinstance(refreshed, Account):
            return refreshed
        try:
            return await self.publish_as(refreshed, network, job, payload, call)
        except AccountRefused as refusal:
            return await self.handle_refusal(refreshed, refusal.failure)

    async def publish_as(
        self, account: Account, network: Provider, job: Job, payload: PostPayload, call: GuardedCall
    ) -> Outcome:
        post = to_provider_post(job, payload, account)
        published = await network.publish(post, call.with_policy(self.build_policy(network, account)))
        return Done({"url": published.url}, published.remote_id)

    async def refresh_credentials(
        self, account: Account, network: Provider, why: Failure, call: GuardedCall
    ) -> Account | Outcome:
        """Return the account with new credentials, stored before anyone uses them, or how the attempt ends.

        Called once in an attempt. Only a definite refusal holds the account; other failures are retried.
        """
        try:
            tokens = await network.refresh(account, call.with_policy(self.build_policy(network, account)).http)
        except (NotSent, LostResponse) as error:
            return Retry(f"{why.message} The credentials could not be refreshed: {error}")
        if isinstance(tokens, Tokens):
            try:
                return await self.accounts.renew(account, tokens)
            except Conflict:
                return self.try_again(account)
        if tokens.kind in (FailureKind.AUTH, FailureKind.SUSPENDED, FailureKind.PERMANENT):
            return await self.handle_refusal(account, tokens)
        if tokens.kind is FailureKind.RATE_LIMIT:
            return await call.handle_failure(tokens)
        return Retry(f"{why.message} The credentials could not be refreshed: {tokens.message}", tokens.until)

    async def handle_refusal(self, account: Account, failure: Failure) -> Outcome:
        state = HELD_STATES.get(failure.kind, AccountState.TOKEN_EXPIRED)
        return await self.hold_account(account, state, failure.message)

    async def hold_account(self, account: StoredAccount | Account, state: AccountState, why: str) -> Outcome:
        """Hold the account and defer the post. Its posts are published in order once a person has acted."""
        if not await self.accounts.hold(account, state, why):
            return self.try_again(account)
        return GateClosed(clock.now(), f"{why} Posts of {account.id} wait until a person has acted.")

    def try_again(self, account: StoredAccount | Account) -> Outcome:
        """Defer a post whose account changed meanwhile. It begins again with the account as it is."""
        return GateClosed(clock.now(), f"{account.id} was reconnected or changed in the meantime.")

    def build_policy(self, network: Provider, account: Account) -> CallPolicy:
        async def raise_if_refused(failure: Failure) -> None:
            if failure.kind in HELD_STATES:
                raise AccountRefused(failure)

        return CallPolicy(
            timeout=network.timeout * self.timeout_factor,
            listing_delay=network.listing_delay * self.timeout_factor,
            send_within=self.send_within,
            secrets=frozenset(account.credentials.values()),
            id_scope=find_id_scope(network, account),
            public=True,
            service=account.service,
            on_failure=raise_if_refused,
        )


def is_too_late(job: Job, until: datetime | None) -> bool:
    """Return whether `publish_until` had passed when the job was claimed. A replay ignores it."""
    return until is not None and job.generation == 1 and (job.claimed_at or until) > until
