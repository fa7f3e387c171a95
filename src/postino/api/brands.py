"""`/v1/brands`: the brands of accounts and jobs. A brand is only a name on them and is not created by itself."""

from collections import Counter
from typing import Any

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import LIMIT, text_parameter
from postino.api.routes import Routes
from postino.client.types.accounts import BrandView
from postino.client.types.schema import Page
from postino.rules.post_status import STATUS
from postino.values.auth import Role

routes = Routes("brands")
MAX_COUNTED = 1000
CURSOR = text_parameter("cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.")


@routes.add("GET", "/v1/brands", role=Role.VIEWER, query=(LIMIT, CURSOR), responses={200: Page[BrandView]})
async def list_brands(context: Context) -> JSONResponse:
    """List brands.

    Returns each brand with the number of its accounts and of its posts by status. For each brand, the counts cover the
    latest 1,000 posts that have not ended and the latest 1,000 posts that have ended.
    """
    app, caller, limit = context.app, context.caller, context.query[LIMIT]
    accounts = Counter(account.brand for account in await app.store.accounts() if account.brand is not None)
    names = sorted({*accounts, *await app.store.brands()})
    visible = [name for name in names if caller.can_see(name) and name > (context.query[CURSOR] or "")]
    page, cursor = visible[:limit], visible[limit - 1] if len(visible) > limit else None
    posts: dict[str, dict[str, int]] = {name: {} for name in page}
    for count in await app.store.brand_counts(page, MAX_COUNTED):
        posts[count.brand][STATUS[count.state].value] = count.posts
    data: list[dict[str, Any]] = [
        {"brand": name, "accounts": accounts[name], "posts": posts[name], "counted_at_most": MAX_COUNTED}
        for name in page
    ]
    return JSONResponse({"data": data, "next_cursor": cursor})
