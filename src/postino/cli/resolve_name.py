"""Resolve account names: an id, or a network or handle that only one account has."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.errors import NotFound, WrongUse
from postino.values.suggestions import find_nearest, suggest_name

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

Account = Mapping[str, Any]


def resolve_account(postino: "QueueApi", name: str) -> str:
    """Return the id of an account, or the name itself if only jobs or gates of an application use it."""
    from postino.engine.checks import check_name

    accounts = postino.accounts.list()["data"]
    known = any(name in (account["id"], account["network"], account["handle"]) for account in accounts)
    if not known and is_known_account(postino, check_name(name, "account")):
        return name
    return match_account(name, accounts, "account")


def is_known_account(postino: "QueueApi", name: str) -> bool:
    gates = postino.queues()["gates"]
    gated = any((gate["scope"], gate["name"]) == ("account", name) for gate in gates)
    return gated or bool(postino.jobs.list(account=name, limit=1)["data"])


def describe_unknown_brand(postino: "QueueApi", name: str) -> str | None:
    """Return a hint if no account and no job has this brand, or None."""
    brands = sorted({account["brand"] for account in postino.accounts.list()["data"] if account["brand"] is not None})
    if name in brands or postino.jobs.list(brand=name, limit=1)["data"]:
        return None
    return f"No account and no job has the brand {name}. {suggest_name(name, brands)}".rstrip()


def match_account(name: str, accounts: Sequence[Account], field: str = "to") -> str:
    matching = [it["id"] for it in accounts if it["id"] == name] or [
        it["id"] for it in accounts if name in (it["network"], it["handle"])
    ]
    if len(matching) == 1:
        account_id: str = matching[0]
        return account_id
    if matching:
        raise WrongUse(
            f"{field}: {name!r} matches several accounts: {', '.join(matching)}. Pass one of these ids.", field=field
        )
    if not accounts:
        raise NotFound(
            "There are no accounts. Run `postino up` to add sandbox accounts, or `postino accounts add` to add yours."
        )
    spellings = [it[part] for it in accounts for part in ("id", "network", "handle")]
    nearest = find_nearest(name, spellings)
    known = f"Did you mean {nearest}?" if nearest else f"Use one of: {', '.join(it['id'] for it in accounts)}."
    raise NotFound(f"Account {name!r} does not exist. {known}")
