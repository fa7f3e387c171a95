"""The handler of posts: open the account, and let its network's provider publish through the ledger.

It decides what the refusal of an account means: refresh its credentials once, or hold its posts until it is
reconnected or no longer suspended.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from postino.errors import NotFound, WrongUse
from postino.publishing.accounts import HELD_STATES, AccountService
from postino.publishing.post_payload import PostPayload, to_provider_post
from postino.rules.settlement import MISSED_MESSAGE
from postino.values.job import Job
from postino.values.ledger import CallPolicy, GuardedCall
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry
from postino.values.post import AccountState
from postino.values.provider import Account, Failure, FailureKind, LostResponse, NotSent, Provider, Tokens
from postino.vault.vault import VaultError


class AccountRefused(BaseException):
    """The network refuses the credentials or has suspended the account. No provider's code may catch it."""

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
        if is_too_late(job, payload.publish_until_at) and not await self.accounts.may_be_published(job):
            return Reject(MISSED_MESSAGE, missed=True)
        network = self.networks.get(job.channel)
        if network is None or job.account is None:
            return Retry(f"This worker cannot publish to {job.channel!r}. Start a worker that has this network.")
        try:
            account = await self.accounts.open(job.account)
        except NotFound as error:
            return Reject(str(error))
        except VaultError as error:
            return await self.hold_account(job.account, AccountState.TOKEN_EXPIRED, str(error))
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
            return await self.accounts.renew(account, tokens)
        if tokens.kind in (FailureKind.AUTH, FailureKind.SUSPENDED, FailureKind.PERMANENT):
            return await self.handle_refusal(account, tokens)
        if tokens.kind is FailureKind.RATE_LIMIT:
            return await call.handle_failure(tokens)
        return Retry(f"{why.message} The credentials could not be refreshed: {tokens.message}", tokens.until)

    async def handle_refusal(self, account: Account, failure: Failure) -> Outcome:
        if not await self.accounts.has_credentials(account):
            return Defer(datetime.now(UTC), f"{account.id} was reconnected in the meantime.")
        state = HELD_STATES.get(failure.kind, AccountState.TOKEN_EXPIRED)
        return await self.hold_account(account.id, state, failure.message)

    async def hold_account(self, account: str, state: AccountState, why: str) -> Outcome:
        """Hold the account and defer the post. Its posts are published once a person has acted."""
        await self.accounts.hold(account, state, why)
        return Defer(datetime.now(UTC), f"{why} Posts of {account} wait until it is reconnected.")

    def build_policy(self, network: Provider, account: Account) -> CallPolicy:
        async def raise_if_refused(failure: Failure) -> None:
            if failure.kind in HELD_STATES:
                raise AccountRefused(failure)

        return CallPolicy(
            timeout=network.timeout * self.patience,
            visibility=network.visibility * self.patience,
            send_within=self.send_within,
            secrets=frozenset(account.credentials.values()),
            public=True,
            on_failure=raise_if_refused,
        )


def is_too_late(job: Job, until: datetime | None) -> bool:
    """Return whether `publish_until` had passed when the job was claimed. A replay ignores it."""
    return until is not None and job.generation == 1 and (job.claimed_at or until) > until
