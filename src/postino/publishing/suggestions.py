"""Suggest an account for a name that no account has.

Comparing names is expensive, so that only the first names are compared, with the first accounts, and each only once.
"""

from collections.abc import Mapping
from itertools import islice

from postino.values.post import StoredAccount
from postino.values.suggestions import find_nearest
from postino.values.text import MAX_QUOTED

MAX_COMPARED_NAMES = 10
MAX_COMPARED_ACCOUNTS = 1_000
MAX_LISTED = 20  # accounts


class AccountSuggestions:
    def __init__(self, known: Mapping[str, StoredAccount]) -> None:
        self.known = dict(islice(known.items(), MAX_COMPARED_ACCOUNTS))
        self.messages: dict[str, str] = {}

    def describe(self, name: str) -> str:
        """Return a message that the account does not exist, with a suggestion for the first few names."""
        if name not in self.messages and len(self.messages) < MAX_COMPARED_NAMES:
            self.messages[name] = describe_unknown_account(name, self.known)
        return self.messages.get(name) or f"Account {name[:MAX_QUOTED]!r} does not exist."


def describe_unknown_account(name: str, known: Mapping[str, StoredAccount]) -> str:
    """Return a message with a suggestion: an account with this handle or on this network, or one spelled alike."""
    message = f"Account {name[:MAX_QUOTED]!r} does not exist."
    fitting = [account.id for account in known.values() if name in (account.network, account.handle)]
    nearest = find_nearest(name, known)
    close = fitting or ([nearest] if nearest else [])
    if len(close) == 1:
        return f"{message} Did you mean {close[0]}?"
    names = [*(close or known)]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    listed = f"Use one of: {', '.join(names[:MAX_LISTED])}{more}."
    return f"{message} {listed}" if names else f"{message} Add one with `postino accounts add`."
