"""`/v1/quotas`: how much of a network's quota an account has left, and when more is available."""

from collections.abc import Sequence
from datetime import datetime

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import ACCOUNT, LIMIT, NETWORK, text_parameter
from postino.api.routes import Routes
from postino.api.views.fields import to_json
from postino.client.types.accounts import QuotaView
from postino.client.types.schema import Page
from postino.rules.quota import Quota, QuotaUse, count_remaining, find_refill_time, get_window_start
from postino.stores.records import QuotaUsageFilter
from postino.values.auth import Role
from postino.values.gate import Scope
from postino.values.post import StoredAccount
from postino.wiring import Postino

routes = Routes("quotas")
CURSOR = text_parameter("cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.")


@routes.add(
    "GET", "/v1/quotas", role=Role.VIEWER, query=(ACCOUNT, NETWORK, LIMIT, CURSOR), responses={200: Page[QuotaView]}
)
async def list_quotas(context: Context) -> JSONResponse:
    """List quotas.

    Returns the quotas of each account, ordered by account. Accounts on networks without quotas are not in the list.
    """
    app, query, limit = context.app, context.query, context.query[LIMIT]
    accounts = [
        account
        for account in sorted(await app.store.accounts(), key=lambda account: account.id)
        if context.caller.can_see(account.brand)
        and app.channel_limits.quotas.get(account.network)
        and query[ACCOUNT] in (None, account.id)
        and query[NETWORK] in (None, account.network)
        and account.id > (query[CURSOR] or "")
    ]
    page = accounts[:limit]
    cursor = page[-1].id if len(accounts) > limit else None
    return JSONResponse({"data": await load_quotas(app, page), "next_cursor": cursor})


async def load_quotas(app: Postino, accounts: Sequence[StoredAccount]) -> list[QuotaView]:
    now = await app.store.now()
    pairs = [(account, quota) for account in accounts for quota in app.channel_limits.quotas[account.network]]
    usage = await app.store.quota_usage([make_usage_filter(account, quota, now) for account, quota in pairs])
    return [render_quota(account, quota, spent, now) for (account, quota), spent in zip(pairs, usage, strict=True)]


def make_usage_filter(account: StoredAccount, quota: Quota, now: datetime) -> QuotaUsageFilter:
    payer = account.id if quota.whose is Scope.ACCOUNT else ""
    return QuotaUsageFilter(
        channel=account.network, quota=quota.name, account=payer, since_at=get_window_start(quota, now)
    )


def render_quota(account: StoredAccount, quota: Quota, spent: Sequence[QuotaUse], now: datetime) -> QuotaView:
    """Render a quota; `free_at` is for the cheapest action."""
    period = None if quota.period is None else quota.period.total_seconds()
    return {
        "account": account.id,
        "network": account.network,
        "quota": quota.name,
        "whose": to_json(quota.whose),
        "limit": quota.most,
        "remaining": count_remaining(quota, spent, now),
        "free_at": to_json(find_refill_time(quota, spent, min(quota.costs.values()), now)),
        "period_seconds": period,
        "calendar": to_json(quota.calendar),
        "timezone": quota.timezone,
        "costs": dict(quota.costs),
    }
