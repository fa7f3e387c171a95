"""Accounts, brands and quotas."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from postino.client.types.literals import AccountState, CalendarWindow, Status
from postino.client.types.schema import Doc, Timestamp


class AccountView(TypedDict):
    """An account on a network, without its credentials."""

    id: Annotated[str, Doc("Id of the account: `network:handle`.")]
    network: Annotated[str, Doc("Name of the network.")]
    handle: Annotated[str, Doc("Handle on the network.")]
    state: Annotated[AccountState, Doc("Whether the account can publish.")]
    reason: Annotated[str | None, Doc("Why the account cannot publish.")]
    brand: Annotated[str | None, Doc("Brand that the account belongs to.")]
    remote_id: Annotated[str | None, Doc("Id of the account on the network.")]
    base_url: Annotated[str, Doc("Address of the network's API.")]
    service: Annotated[str, Doc("Name of the service whose circuit breaker holds the posts of the account.")]
    sandbox: Annotated[bool, Doc("True if the account publishes to the sandbox.")]
    created_at: Annotated[Timestamp, Doc("When the account was added.")]


class AccountCheckView(TypedDict):
    """Whether the network accepts the credentials of an account."""

    works: Annotated[
        bool | None, Doc("True if the network accepts the credentials, false if not, null if the check had no result.")
    ]
    message: Annotated[str, Doc("The result in one sentence.")]
    account: Annotated[AccountView, Doc("The account after the check.")]


class BrandView(TypedDict):
    """A brand with the number of its accounts and posts."""

    brand: Annotated[str, Doc("Name of the brand.")]
    accounts: Annotated[int, Doc("Number of accounts.")]
    posts: Annotated[dict[Status, int], Doc("Number of posts by status.")]
    counted_at_most: Annotated[
        int,
        Doc(
            "How many posts of the brand Postino counts at most: this many that have not ended, and this many that have"
            " ended. If the numbers of either group add up to this limit, the brand may have more posts."
        ),
    ]


class QuotaView(TypedDict):
    """How many calls or posts a network allows an account, and how many are left."""

    account: Annotated[str, Doc("Id of the account.")]
    network: Annotated[str, Doc("Network of the account.")]
    quota: Annotated[str, Doc("Name of the quota.")]
    whose: Annotated[
        Literal["account", "channel"],
        Doc("`account`: each account has its own quota. `channel`: all accounts of the network share one quota."),
    ]
    limit: Annotated[int, Doc("Maximum that the network allows in one period.")]
    remaining: Annotated[int, Doc("What remains of the limit now.")]
    free_at: Annotated[
        Timestamp | None,
        Doc("Earliest time at which the quota allows the cheapest action; null if it never allows one."),
    ]
    period_seconds: Annotated[float | None, Doc("Length of a rolling period; null for a calendar period.")]
    calendar: Annotated[CalendarWindow | None, Doc("Calendar period; null for a rolling period.")]
    timezone: Annotated[str | None, Doc("Time zone of the calendar period.")]
    costs: Annotated[dict[str, int], Doc("How much of the quota an action uses, by the name of the action.")]
