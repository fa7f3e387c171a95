"""Ask a network whether a post in doubt was published. Nothing is sent and nothing is stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

from postino.errors import NotFound, WrongUse
from postino.publishing.accounts import AccountService
from postino.publishing.post_payload import load_payload, to_provider_post
from postino.publishing.vault_keys import WrongVaultKey
from postino.rules.ledger import Accepted, UncertainStep, get_step_status
from postino.stores.store import Store
from postino.values.job import Job
from postino.values.ledger import Ledger
from postino.values.post import POST
from postino.values.provider import (
    Account,
    Action,
    CannotTell,
    Failure,
    Found,
    Http,
    Intent,
    Lookup,
    LostResponse,
    NotSent,
    Provider,
    Receipt,
    Resend,
    find_id_scope,
)
from postino.vault.key_file import KeyFileRefused
from postino.vault.vault import VaultError

NOT_FOUND = "The network does not list it, which does not prove that it was not published."
NO_LOOKUP = "The network has no way to ask whether the post arrived."
CANNOT_OPEN = (NotFound, VaultError, KeyFileRefused, WrongVaultKey, WrongUse)
OpenHttp = Callable[[Provider, Account], Http]


@dataclass(frozen=True, slots=True)
class PostLookup:
    """The result of a lookup: `found`, `not_found` or `cannot_tell`, and why."""

    kind: str
    why: str | None = None
    candidates: tuple[Receipt, ...] = ()


class LookupEnded(BaseException):
    """Carries the result out of a provider's code. A BaseException, so that no provider catches it."""

    def __init__(self, result: PostLookup) -> None:
        super().__init__(result.kind)
        self.result = result


def end_without_result(why: str) -> NoReturn:
    raise LookupEnded(PostLookup("cannot_tell", why))


class ReadOnlyCall:
    """A `Call` that replays stored steps and ends at the first visible call in doubt, with a lookup instead of it."""

    def __init__(self, store: Store, job: Job, ledger: Ledger, http: Http, id_scope: str) -> None:
        self.store, self.job, self.ledger, self.http, self.id_scope = store, job, ledger, http, id_scope

    async def step(self, name: str, act: Action, *arguments: Any) -> Any:
        for entry in self.ledger.steps:
            if entry.name == name and entry.done_at is not None:
                return None if entry.result is None else json.loads(entry.result)
        return end_without_result(f"The step {name} did not complete, and the lookup needs its result.")

    async def until(self, name: str, ready: Action, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        return await self.step(name, ready, *arguments)

    async def once(
        self,
        name: str,
        act: Action,
        *arguments: Any,
        found: Lookup | None,
        resend: Resend,
        prepare: Action | None = None,
    ) -> Receipt:
        doubt = get_step_status(self.ledger, name)
        if isinstance(doubt, Accepted):
            return doubt.receipt
        if not isinstance(doubt, UncertainStep):
            return end_without_result("Nothing is in doubt: the post continues by itself, or waits for a decision.")
        if found is None:
            return end_without_result(NO_LOOKUP)
        intent = Intent(
            number=doubt.intent.number,
            intended_at=doubt.first_intended_at,
            send_before_at=doubt.intent.send_before_at,
        )
        match await found(self.http, intent, *arguments):
            case Found(receipt):
                raise LookupEnded(PostLookup("found", None, (receipt,)))
            case CannotTell(why):
                return end_without_result(why)
            case Failure(_, message):
                return end_without_result(message)
            case _:
                raise LookupEnded(PostLookup("not_found", NOT_FOUND))

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        return await self.store.remote_ids_of_others(self.job, remote_ids, self.id_scope)


async def find_post_id_scope(accounts: AccountService, networks: Mapping[str, Provider], job: Job) -> str:
    """Return where the remote id of a post is unique, by its account as it is now; empty: in the whole account."""
    network = networks.get(job.channel)
    if job.type != POST or network is None or job.account is None or not hasattr(network, "get_id_scope"):
        return ""
    try:
        return find_id_scope(network, await accounts.open(job.account))
    except CANNOT_OPEN:  # a person can resolve its posts nevertheless
        return ""


async def look_up_post(
    store: Store, accounts: AccountService, networks: Mapping[str, Provider], open_http: OpenHttp, job: Job
) -> PostLookup:
    """Return whether the network has the post of this job."""
    network = networks.get(job.channel)
    if job.type != POST or network is None or job.account is None:
        return PostLookup("cannot_tell", "Postino can look up posts only.")
    try:
        account = await accounts.open(job.account)
        blocker = await accounts.describe_blocker(await store.account(job.account))
    except CANNOT_OPEN as error:
        return PostLookup("cannot_tell", str(error))
    if blocker is not None:
        return PostLookup("cannot_tell", blocker)
    scope = find_id_scope(network, account)
    call = ReadOnlyCall(store, job, await store.ledger(job.id), open_http(network, account), scope)
    try:
        await network.publish(to_provider_post(job, load_payload(job.payload), account), call)
    except LookupEnded as ended:
        return ended.result
    except (NotSent, LostResponse) as error:
        return PostLookup("cannot_tell", str(error))
    return PostLookup("cannot_tell", "All parts of the post are known to be published.")
