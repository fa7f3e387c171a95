"""What a name means: an account by its id or, where only one fits, its network or its handle; and who has a brand."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from postino.errors import NotFound, WrongUse
from postino.gate import Scope
from postino.post import StoredAccount
from postino.store import JobFilter

if TYPE_CHECKING:
    from postino.wiring import Postino


async def account_meant(app: "Postino", name: str) -> str:
    """The id of an account; or an account of an application's own, which only its jobs and gates know."""
    from postino.engine.specs import named

    accounts = await app.store.accounts()
    if not any(name in (one.id, one.network, one.handle) for one in accounts) and (
        await app.store.list(JobFilter(account=named(name, "account"), limit=1))
        or await app.store.gates_of(Scope.ACCOUNT, name)
    ):
        return name
    return account_named(name, accounts, "account").id


async def doubt_about_brand(app: "Postino", name: str) -> str | None:
    """What to say of a brand that no account has and no job ever had."""
    brands = sorted({account.brand for account in await app.store.accounts() if account.brand is not None})
    if name in brands or await app.store.list(JobFilter(brand=name, limit=1)):
        return None
    near = difflib.get_close_matches(name, brands, n=1)
    there = f" There are: {', '.join(brands)}." if brands else ""
    return f"No account and no job has the brand {name}.{f' Did you mean {near[0]}?' if near else there}"


def account_named(name: str, accounts: Sequence[StoredAccount], field: str = "to") -> StoredAccount:
    fitting = [account for account in accounts if account.id == name] or [
        account for account in accounts if name in (account.network, account.handle)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ids = ", ".join(account.id for account in fitting)
        raise WrongUse(f"{field}: {name!r} may be any of {ids}. Say which one.", field=field)
    if not accounts:
        raise NotFound("There are no accounts yet. `postino up` adds some to try, `postino accounts add` adds yours.")
    spellings = [text for account in accounts for text in (account.id, account.network, account.handle)]
    near = difflib.get_close_matches(name, spellings, n=1)
    there = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(account.id for account in accounts)}."
    raise NotFound(f"There is no account {name!r}. {there}")
