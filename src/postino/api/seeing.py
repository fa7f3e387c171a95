"""What a caller gets to see: of another's things not even that they are there."""

from uuid import UUID

from postino.api.callers import Caller
from postino.errors import Conflict, NotFound, WrongUse
from postino.stores.records import DeadLetter
from postino.values.job import Job
from postino.values.post import POST, StoredAccount
from postino.wiring import Postino

NO_JOB = "There is no job {}. The list of jobs shows the newest ones."
NO_LETTER = "There is no dead letter of job {}. The list of dead letters shows those there are."
NO_ACCOUNT = "There is no account {}. The list of accounts shows those there are."

GONE_ACCOUNT = (
    "{} {} goes by account {}, which is not one of your brands' any more. Nothing was changed. Ask an owner of all"
    " brands about it."
)


def shown_brands(caller: Caller, brand: str | None = None) -> tuple[str, ...] | None:
    """Which brands to show where one was asked for, or none; None: all of them, and what has none."""
    if brand is not None:
        return (brand,) if caller.sees(brand) else ()
    return None if caller.brands is None else tuple(sorted(caller.brands))


async def seen_job(app: Postino, job_id: UUID, caller: Caller) -> Job:
    job = await app.store.job(job_id)
    caller.check_sees(job.brand, NO_JOB.format(job_id))
    return job


async def seen_letter(app: Postino, job_id: UUID, caller: Caller) -> DeadLetter:
    letter = await app.store.dead_letter(job_id)
    caller.check_sees(letter.job.brand, NO_LETTER.format(job_id))
    return letter


async def own_job(app: Postino, job_id: UUID, caller: Caller) -> Job:
    """One they may do something to."""
    job = await seen_job(app, job_id, caller)
    await check_account(app, job, caller)
    return job


async def own_letter(app: Postino, job_id: UUID, caller: Caller) -> DeadLetter:
    letter = await seen_letter(app, job_id, caller)
    await check_account(app, letter.job, caller)
    return letter


async def check_account(app: Postino, job: Job, caller: Caller) -> None:
    """Raises Conflict where its account went to another brand: what was theirs stays to be seen, not to be sent."""
    if caller.brands is None or job.account is None:
        return
    for account in await app.store.accounts_by_id([job.account]):
        if not caller.sees(account.brand):
            raise Conflict(GONE_ACCOUNT.format("Post" if job.type == POST else "Job", job.id, account.id))


async def seen_account(app: Postino, account_id: str, caller: Caller) -> StoredAccount:
    account = await app.store.account(account_id)
    caller.check_sees(account.brand, NO_ACCOUNT.format(account_id))
    return account


async def own_brand(app: Postino, caller: Caller, brand: str | None, account: str | None) -> str | None:
    """The brand of something new: that of its account where Postino knows it, and always one of the caller's."""
    known = None
    if account is not None:
        try:
            known = await app.store.account(account)
        except NotFound:
            if caller.brands is not None:
                raise WrongUse(f"account: there is no account {account!r}.", "account") from None
    if known is not None and not caller.sees(known.brand):
        raise WrongUse(f"account: there is no account {account!r}.", "account")
    if known is not None and brand not in (None, known.brand):
        raise WrongUse(f"brand: account {account} is of another brand; leave it out.", "brand")
    found = known.brand if known is not None else brand
    if not caller.sees(found):
        said = ", ".join(sorted(caller.brands or ()))
        raise WrongUse(f"brand: this key is for {said}: say which of them it is.", "brand")
    return found
