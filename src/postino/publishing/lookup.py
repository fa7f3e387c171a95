"""Asks a network what became of a post that may be out there, without sending anything and without writing it down."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, NoReturn

from pydantic import TypeAdapter

from postino.errors import NotFound, WrongUse
from postino.publishing.accounts import AccountService
from postino.publishing.publisher import PostPayload, post_of
from postino.rules.ledger import Accepted, InDoubt, fate
from postino.stores.store import Store
from postino.values.job import Job
from postino.values.ledger import Ledger
from postino.values.post import POST
from postino.values.provider import (
    Account,
    Act,
    CannotTell,
    Failure,
    Found,
    Http,
    Intent,
    Look,
    NoAnswer,
    NotSent,
    Provider,
    Receipt,
    Resend,
)
from postino.vault.vault import VaultError

NOT_SEEN = "It is not to be seen there, which does not prove that it is not there."
NO_WAY = "The network offers no way to ask whether it arrived."
OpenDoor = Callable[[Provider, Account], Http]


@dataclass(frozen=True, slots=True)
class LookupResult:
    """What a look showed: `found`, `not_found` or `cannot_tell`, and in words why."""

    kind: str
    why: str | None = None
    candidates: tuple[Receipt, ...] = ()


class LookupEnded(BaseException):
    """Ends the look, past whatever a network's own code catches."""

    def __init__(self, sight: LookupResult) -> None:
        super().__init__(sight.kind)
        self.sight = sight


def cannot_tell(why: str) -> NoReturn:
    raise LookupEnded(LookupResult("cannot_tell", why))


class ReadOnlyCall:
    """A `Call` that remembers and looks, and does nothing: it ends at the first visible call that is in doubt."""

    def __init__(self, store: Store, job: Job, ledger: Ledger, http: Http) -> None:
        self.store, self.job, self.ledger, self.http = store, job, ledger, http

    async def step(self, name: str, act: Act, *arguments: Any) -> Any:
        for entry in self.ledger.steps:
            if entry.name == name and entry.done_at is not None:
                return None if entry.result is None else json.loads(entry.result)
        return cannot_tell(f"What is needed to look for it was never done: {name}.")

    async def until(self, name: str, ready: Act, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        return await self.step(name, ready, *arguments)

    async def once(self, name: str, act: Act, *arguments: Any, found: Look | None, resend: Resend) -> Receipt:
        doubt = fate(self.ledger, name)
        if isinstance(doubt, Accepted):
            return doubt.receipt
        if not isinstance(doubt, InDoubt):
            return cannot_tell("Nothing of it is in doubt: it goes on by itself, or waits for a person's word.")
        if found is None:
            return cannot_tell(NO_WAY)
        intent = Intent(
            number=doubt.intent.number,
            intended_at=doubt.first_intended_at,
            send_before_at=doubt.intent.send_before_at,
        )
        match await found(self.http, intent, *arguments):
            case Found(receipt):
                raise LookupEnded(LookupResult("found", None, (receipt,)))
            case CannotTell(why):
                return cannot_tell(why)
            case Failure(_, message):
                return cannot_tell(message)
            case _:
                raise LookupEnded(LookupResult("not_found", NOT_SEEN))

    async def held_by_others(self, remote_ids: list[str]) -> set[str]:
        return await self.store.remote_ids_of_others(self.job, remote_ids)


async def look(
    store: Store, accounts: AccountService, networks: Mapping[str, Provider], open_door: OpenDoor, job: Job
) -> LookupResult:
    network = networks.get(job.channel)
    if job.type != POST or network is None or job.account is None:
        return LookupResult("cannot_tell", "Only of posts does Postino know whom to ask.")
    try:
        account = await accounts.open(job.account)
        told = await accounts.left_alone(await store.account(job.account))
    except (NotFound, VaultError, WrongUse) as error:
        return LookupResult("cannot_tell", str(error))
    if told is not None:
        return LookupResult("cannot_tell", told)
    onlooker = ReadOnlyCall(store, job, await store.ledger(job.id), open_door(network, account))
    try:
        await network.publish(post_of(job, letters().validate_json(job.payload), account), onlooker)
    except LookupEnded as seen:
        return seen.sight
    except (NotSent, NoAnswer) as error:
        return LookupResult("cannot_tell", str(error))
    return LookupResult("cannot_tell", "All of it is known to be out there.")


@cache
def letters() -> TypeAdapter[PostPayload]:
    return TypeAdapter(PostPayload)
