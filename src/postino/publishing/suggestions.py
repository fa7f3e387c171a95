"""Names that no account has: what was probably meant is looked for once, and for the first few only."""

from collections.abc import Mapping
from itertools import islice

from postino.publishing.accounts import no_such_account
from postino.values.post import StoredAccount

MOST_MEANT = 10  # names, each compared with every account
MOST_COMPARED = 1_000  # accounts
MOST_SHOWN = 100  # characters


class AccountSuggestions:
    def __init__(self, known: Mapping[str, StoredAccount]) -> None:
        self.known = dict(islice(known.items(), MOST_COMPARED))
        self.meant: dict[str, str] = {}

    def told(self, name: str) -> str:
        if name not in self.meant and len(self.meant) < MOST_MEANT:
            self.meant[name] = no_such_account(name, self.known)
        return self.meant.get(name) or f"there is no account {name[:MOST_SHOWN]!r}."
