"""What a caller gets to see: of another's things not even that they are there."""

from uuid import UUID

from postino.api.callers import Caller
from postino.errors import NotFound, WrongUse
from postino.job import Job
from postino.post import StoredAccount
from postino.store import DeadLetter
from postino.wiring import Postino

NO_JOB = "There is no job {}. The list of jobs shows the newest ones."
NO_LETTER = "There is no dead letter of job {}. The list of dead letters shows those there are."
NO_ACCOUNT = "There is no account {}. The list of accounts shows those there are."


def shown_brands(caller: Caller, brand: str | None = None) -> tuple[str, ...] | None:
    """Which brands to show where one was asked for, or none; None: all of them, and what has none."""
    if brand is not None:
        return (brand,) if caller.sees(brand) else ()
    return None if caller.brands is None else tuple(sorted(caller.brands))


async def seen_job(app: Postino, job_id: UUID, caller: Caller) -> Job:
    job = await app.store.get(job_id)
    caller.check_sees(job.brand, NO_JOB.format(job_id))
    return job


async def seen_letter(app: Postino, job_id: UUID, caller: Caller) -> DeadLetter:
    letter = await app.store.dead_letter(job_id)
    caller.check_sees(letter.job.brand, NO_LETTER.format(job_id))
    return letter


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
