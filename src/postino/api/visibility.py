"""Load what a caller may see or change. Things of other brands are reported as missing, never as forbidden."""

from uuid import UUID

from postino.api.caller import Caller
from postino.errors import Conflict, NotFound, WrongUse
from postino.publishing.suggestions import describe_unknown_account
from postino.stores.records import DeadLetter
from postino.values.job import Job
from postino.values.post import POST, Draft, StoredAccount, StoredPost, describe_missing_draft, describe_missing_post
from postino.wiring import Postino

NO_JOB = "There is no job {}. The list of jobs shows the newest ones."
NO_LETTER = "There is no dead letter of job {}. The list of dead letters shows those there are."
NO_ACCOUNT = "There is no account {}. The list of accounts shows those there are."

GONE_ACCOUNT = (
    "{} {} goes by account {}, which is not one of your brands' any more. Nothing was changed. Ask an owner of all"
    " brands about it."
)


def select_brands(caller: Caller, brand: str | None = None) -> tuple[str, ...] | None:
    """Which brands to show where one was asked for, or none; None: all of them, and what has none."""
    if brand is not None:
        return (brand,) if caller.sees(brand) else ()
    return None if caller.brands is None else tuple(sorted(caller.brands))


async def get_visible_job(app: Postino, job_id: UUID, caller: Caller) -> Job:
    job = await app.store.job(job_id)
    caller.check_sees(job.brand, NO_JOB.format(job_id))
    return job


async def get_visible_dead_letter(app: Postino, job_id: UUID, caller: Caller) -> DeadLetter:
    letter = await app.store.dead_letter(job_id)
    caller.check_sees(letter.job.brand, NO_LETTER.format(job_id))
    return letter


async def get_editable_job(app: Postino, job_id: UUID, caller: Caller) -> Job:
    """One they may do something to."""
    job = await get_visible_job(app, job_id, caller)
    await check_account_brand(app, job, caller)
    return job


async def get_editable_dead_letter(app: Postino, job_id: UUID, caller: Caller) -> DeadLetter:
    letter = await get_visible_dead_letter(app, job_id, caller)
    await check_account_brand(app, letter.job, caller)
    return letter


async def check_account_brand(app: Postino, job: Job, caller: Caller) -> None:
    """Raises Conflict where its account went to another brand: what was theirs stays to be seen, not to be sent."""
    if caller.brands is None or job.account is None:
        return
    for account in await app.store.accounts_by_id([job.account]):
        if not caller.sees(account.brand):
            raise Conflict(GONE_ACCOUNT.format("Post" if job.type == POST else "Job", job.id, account.id))


async def get_visible_account(app: Postino, account_id: str, caller: Caller) -> StoredAccount:
    account = await app.store.account(account_id)
    caller.check_sees(account.brand, NO_ACCOUNT.format(account_id))
    return account


async def choose_brand(app: Postino, caller: Caller, brand: str | None, account: str | None) -> str | None:
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


async def get_visible_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    post = await app.posts.get(post_id)
    caller.check_sees(post.job.brand, describe_missing_post(post_id))
    return post


async def get_editable_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    """One they may do something to."""
    post = await get_visible_post(app, caller, post_id)
    await check_account_brand(app, post.job, caller)
    return post


async def get_visible_draft(app: Postino, caller: Caller, draft_id: UUID) -> Draft:
    draft = await app.store.draft(draft_id)
    caller.check_sees(draft.brand, describe_missing_draft(draft_id))
    return draft


async def list_visible_accounts(app: Postino, caller: Caller) -> dict[str, StoredAccount]:
    return {account.id: account for account in await app.store.accounts() if caller.sees(account.brand)}


async def require_accounts(app: Postino, caller: Caller, names: list[str]) -> list[StoredAccount]:
    """The accounts by these names. Raises WrongUse where there is none."""
    known = {
        account.id: account for account in await app.read_batcher.accounts_named(names) if caller.sees(account.brand)
    }
    for number, name in enumerate(names):
        if name not in known:
            others = await list_visible_accounts(app, caller)
            raise WrongUse(f"accounts[{number}]: {describe_unknown_account(name, others)}", "accounts")
    return [known[name] for name in names]
