"""Load what a caller may see or change. Things of other brands are reported as missing, never as forbidden."""

from uuid import UUID

from postino.api.caller import Caller
from postino.api.views.posts import MAX_POSTS
from postino.errors import Conflict, NotFound, WrongUse
from postino.publishing.contents import load_content
from postino.publishing.suggestions import describe_unknown_account
from postino.rules.rendering import limit_to_networks
from postino.stores.records import DeadLetter
from postino.values.content import Content
from postino.values.job import Job, no_dead_letter, no_job
from postino.values.post import (
    POST,
    Draft,
    PostFilter,
    StoredAccount,
    StoredPost,
    describe_missing_account,
    describe_missing_draft,
    describe_missing_post,
)
from postino.wiring import Postino

MOVED_ACCOUNT = (
    "{} {} belongs to account {}, which has moved to a brand that you have no access to. Nothing was changed. Ask an"
    " owner of all brands."
)


def select_brands(caller: Caller, brand: str | None = None) -> tuple[str, ...] | None:
    """Return the brands to list: the one that was asked for, or all that the caller may see; None means all."""
    if brand is not None:
        return (brand,) if caller.can_see(brand) else ()
    return None if caller.brands is None else tuple(sorted(caller.brands))


async def get_visible_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    post = await app.posts.get(post_id)
    caller.check_can_see(post.job.brand, describe_missing_post(post_id))
    return post


async def get_editable_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    post = await get_visible_post(app, caller, post_id)
    await check_account_brand(app, post.job, caller)
    return post


async def load_visible_content(app: Postino, caller: Caller, post: StoredPost) -> Content:
    """Return a post's content without the parts that only posts of other brands use, such as overrides."""
    content = load_content(post.content)
    if caller.brands is None:
        return content
    posts = await app.posts.list(PostFilter(content_id=post.content_id, brands=caller.brands, limit=MAX_POSTS))
    return limit_to_networks(content, {one.job.channel for one in posts})


async def get_visible_draft(app: Postino, caller: Caller, draft_id: UUID) -> Draft:
    draft = await app.store.draft(draft_id)
    caller.check_can_see(draft.brand, describe_missing_draft(draft_id))
    return draft


async def get_visible_job(app: Postino, caller: Caller, job_id: UUID) -> Job:
    job = await app.store.job(job_id)
    caller.check_can_see(job.brand, no_job(job_id))
    return job


async def get_editable_job(app: Postino, caller: Caller, job_id: UUID) -> Job:
    job = await get_visible_job(app, caller, job_id)
    await check_account_brand(app, job, caller)
    return job


async def get_visible_dead_letter(app: Postino, caller: Caller, job_id: UUID) -> DeadLetter:
    letter = await app.store.dead_letter(job_id)
    caller.check_can_see(letter.job.brand, no_dead_letter(job_id))
    return letter


async def get_editable_dead_letter(app: Postino, caller: Caller, job_id: UUID) -> DeadLetter:
    letter = await get_visible_dead_letter(app, caller, job_id)
    await check_account_brand(app, letter.job, caller)
    return letter


async def check_account_brand(app: Postino, job: Job, caller: Caller) -> None:
    """Raise Conflict if the job's account has moved to another brand: the caller may still see it, not send it."""
    if caller.brands is None or job.account is None:
        return
    for account in await app.store.accounts_by_id([job.account]):
        if not caller.can_see(account.brand):
            raise Conflict(MOVED_ACCOUNT.format("Post" if job.type == POST else "Job", job.id, account.id))


async def get_visible_account(app: Postino, caller: Caller, account_id: str) -> StoredAccount:
    account = await app.store.account(account_id)
    caller.check_can_see(account.brand, describe_missing_account(account_id))
    return account


async def list_visible_accounts(app: Postino, caller: Caller) -> dict[str, StoredAccount]:
    return {account.id: account for account in await app.store.accounts() if caller.can_see(account.brand)}


async def require_accounts(app: Postino, caller: Caller, names: list[str]) -> list[StoredAccount]:
    """Return the accounts with these ids. Raises WrongUse if one does not exist."""
    accounts = await app.read_batcher.get_accounts(names)
    known = {account.id: account for account in accounts if caller.can_see(account.brand)}
    for number, name in enumerate(names):
        if name not in known:
            others = await list_visible_accounts(app, caller)
            raise WrongUse(f"accounts[{number}]: {describe_unknown_account(name, others)}", "accounts")
    return [known[name] for name in names]


async def choose_brand(app: Postino, caller: Caller, brand: str | None, account: str | None) -> str | None:
    """Return the brand of a new job: that of its account if Postino knows it, else the given one."""
    known = None
    if account is not None:
        try:
            known = await app.store.account(account)
        except NotFound:
            if caller.brands is not None:
                raise WrongUse(f"account: there is no account {account!r}.", "account") from None
    if known is not None and not caller.can_see(known.brand):
        raise WrongUse(f"account: there is no account {account!r}.", "account")
    if known is not None and brand not in (None, known.brand):
        raise WrongUse(f"brand: account {account} belongs to another brand. Leave `brand` out.", "brand")
    chosen = known.brand if known is not None else brand
    if not caller.can_see(chosen):
        allowed = ", ".join(sorted(caller.brands or ()))
        raise WrongUse(f"brand: choose one of the brands that you have access to: {allowed}.", "brand")
    return chosen
