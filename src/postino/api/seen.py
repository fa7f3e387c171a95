"""What a caller may see: of another brand's things nobody hears even that they are there."""

from uuid import UUID

from postino.api.callers import Caller
from postino.api.seeing import check_account
from postino.errors import WrongUse
from postino.publishing.accounts import no_such_account
from postino.values.post import Draft, StoredAccount, StoredPost, no_draft, no_post
from postino.wiring import Postino


async def seen_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    post = await app.posts.get(post_id)
    caller.check_sees(post.job.brand, no_post(post_id))
    return post


async def own_post(app: Postino, caller: Caller, post_id: UUID) -> StoredPost:
    """One they may do something to."""
    post = await seen_post(app, caller, post_id)
    await check_account(app, post.job, caller)
    return post


async def seen_draft(app: Postino, caller: Caller, draft_id: UUID) -> Draft:
    draft = await app.store.draft(draft_id)
    caller.check_sees(draft.brand, no_draft(draft_id))
    return draft


async def seen_accounts(app: Postino, caller: Caller) -> dict[str, StoredAccount]:
    return {account.id: account for account in await app.store.accounts() if caller.sees(account.brand)}


async def check_accounts(app: Postino, caller: Caller, names: list[str]) -> list[StoredAccount]:
    """The accounts by these names. Raises WrongUse where there is none."""
    known = {
        account.id: account for account in await app.read_batcher.accounts_named(names) if caller.sees(account.brand)
    }
    for number, name in enumerate(names):
        if name not in known:
            others = await seen_accounts(app, caller)
            raise WrongUse(f"accounts[{number}]: {no_such_account(name, others)}", "accounts")
    return [known[name] for name in names]
