"""`/v1/quotas`: how much of what networks take in a period is left, and when there is room again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.query import limit_of, query_of
from postino.api.views.fields import to_json
from postino.rules.quota import Quota, QuotaUse, count_remaining, find_refill_time, get_window_start
from postino.stores.records import QuotaUsageFilter
from postino.values.gate import Scope
from postino.values.post import StoredAccount
from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["quotas"])

    @router.get("/v1/quotas")
    async def list_quotas(request: Request) -> JSONResponse:
        """Account by account: `account`, `network`, `limit`, `cursor`. A network without quotas has none here."""
        query = query_of(request, "account", "network", "limit", "cursor")
        caller, limit = caller_of(request), limit_of(query)
        found = sorted(await app.store.accounts(), key=lambda account: account.id)
        chosen = [
            account
            for account in found
            if caller.sees(account.brand)
            and app.channel_limits.quotas.get(account.network)
            and query.get("account", account.id) == account.id
            and query.get("network", account.network) == account.network
            and account.id > query.get("cursor", "")
        ]
        page = chosen[:limit]
        cursor = page[-1].id if len(chosen) > limit else None
        return JSONResponse({"data": await left_of(app, page), "next_cursor": cursor})

    return router


async def left_of(app: Postino, accounts: Sequence[StoredAccount]) -> list[dict[str, Any]]:
    now = await app.store.now()
    asked = [(account, quota) for account in accounts for quota in app.channel_limits.quotas[account.network]]
    spent = await app.store.quota_usage([spending(account, quota, now) for account, quota in asked])
    return [told(account, quota, one, now) for (account, quota), one in zip(asked, spent, strict=True)]


def spending(account: StoredAccount, quota: Quota, now: datetime) -> QuotaUsageFilter:
    payer = account.id if quota.whose is Scope.ACCOUNT else ""
    return QuotaUsageFilter(
        channel=account.network, quota=quota.name, account=payer, since_at=get_window_start(quota, now)
    )


def told(account: StoredAccount, quota: Quota, spent: Sequence[QuotaUse], now: datetime) -> dict[str, Any]:
    """`free_at` is for what costs least."""
    period = None if quota.period is None else quota.period.total_seconds()
    return {
        "account": account.id,
        "network": account.network,
        "quota": quota.name,
        "whose": quota.whose.value,
        "most": quota.most,
        "left": count_remaining(quota, spent, now),
        "free_at": to_json(find_refill_time(quota, spent, min(quota.costs.values()), now)),
        "period_seconds": period,
        "calendar": quota.calendar and quota.calendar.value,
        "timezone": quota.timezone,
        "costs": dict(quota.costs),
    }
