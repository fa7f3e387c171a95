"""`/v1/brands`: whose accounts and posts there are. Brands are a name on both, and nothing else."""

from collections import Counter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.query import limit_of, query_of
from postino.rules.post_status import STATUS
from postino.wiring import Postino

MOST_COUNTED = 1000


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["brands"])

    @router.get("/v1/brands")
    async def list_brands(request: Request) -> JSONResponse:
        """Each with its accounts and its posts by status: the latest 1,000 under way, and as many that ended."""
        query = query_of(request, "limit", "cursor")
        caller, limit = caller_of(request), limit_of(query)
        accounts = Counter(account.brand for account in await app.store.accounts() if account.brand is not None)
        names = sorted({*accounts, *await app.store.brands()})
        all_seen = [name for name in names if caller.sees(name) and name > query.get("cursor", "")]
        seen, cursor = all_seen[:limit], all_seen[limit - 1] if len(all_seen) > limit else None
        posts: dict[str, dict[str, int]] = {name: {} for name in seen}
        for counted in await app.store.brand_counts(seen, MOST_COUNTED):
            posts[counted.brand][STATUS[counted.state].value] = counted.posts
        data: list[dict[str, Any]] = [
            {"brand": name, "accounts": accounts[name], "posts": posts[name], "counted_at_most": MOST_COUNTED}
            for name in seen
        ]
        return JSONResponse({"data": data, "next_cursor": cursor})

    return router
