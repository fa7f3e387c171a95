"""What a name means: an account by its id or, target only one fits, its network or its handle; and who has a brand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.errors import NotFound, WrongUse
from postino.values.suggestions import find_nearest, suggest_name

if TYPE_CHECKING:
    from postino.cli.connection import QueueApi

Account = Mapping[str, Any]


def resolve_account(postino: "QueueApi", name: str) -> str:
    """The id of an account; or an account of an application's own, which only its jobs and gates know."""
    from postino.engine.checks import check_name

    accounts = postino.accounts.page()["data"]
    known = any(name in (one["id"], one["network"], one["handle"]) for one in accounts)
    if not known and is_known_account(postino, check_name(name, "account")):
        return name
    return match_account(name, accounts, "account")


def is_known_account(postino: "QueueApi", name: str) -> bool:
    gates = postino.queues()["gates"]
    gated = any((gate["scope"], gate["name"]) == ("account", name) for gate in gates)
    return gated or bool(postino.jobs.page(account=name, limit=1)["data"])


def describe_unknown_brand(postino: "QueueApi", name: str) -> str | None:
    """What to say of a brand that no account has and no job ever had."""
    brands = sorted({account["brand"] for account in postino.accounts.page()["data"] if account["brand"] is not None})
    if name in brands or postino.jobs.page(brand=name, limit=1)["data"]:
        return None
    return f"No account and no job has the brand {name}. {suggest_name(name, brands)}".rstrip()


def match_account(name: str, accounts: Sequence[Account], field: str = "to") -> str:
    fitting = [it["id"] for it in accounts if it["id"] == name] or [
        it["id"] for it in accounts if name in (it["network"], it["handle"])
    ]
    if len(fitting) == 1:
        found: str = fitting[0]
        return found
    if fitting:
        raise WrongUse(f"{field}: {name!r} may be any of {', '.join(fitting)}. Say which one.", field=field)
    if not accounts:
        raise NotFound("There are no accounts yet. `postino up` adds some to try, `postino accounts add` adds yours.")
    spellings = [it[part] for it in accounts for part in ("id", "network", "handle")]
    nearest = find_nearest(name, spellings)
    there = f"Did you mean {nearest}?" if nearest else f"Use one of: {', '.join(it['id'] for it in accounts)}."
    raise NotFound(f"Account {name!r} does not exist. {there}")
