"""Which account a name means: its id or, where only one fits, its network or its handle."""

import difflib
from collections.abc import Sequence

from postino.errors import NotFound, WrongUse
from postino.post import StoredAccount


def account_named(name: str, accounts: Sequence[StoredAccount]) -> StoredAccount:
    fitting = [account for account in accounts if account.id == name] or [
        account for account in accounts if name in (account.network, account.handle)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ids = ", ".join(account.id for account in fitting)
        raise WrongUse(f"to: {name!r} may be any of {ids}. Say which one.", field="to")
    if not accounts:
        raise NotFound("There are no accounts yet. `postino up` adds some to try, `postino accounts add` adds yours.")
    spellings = [text for account in accounts for text in (account.id, account.network, account.handle)]
    near = difflib.get_close_matches(name, spellings, n=1)
    there = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(account.id for account in accounts)}."
    raise NotFound(f"There is no account {name!r}. {there}")
