"""`/v1/stats`: success rate and punctuality of the latest posts."""

from datetime import timedelta

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import BRAND, NETWORK, integer_parameter
from postino.api.routes import Routes
from postino.api.views.fields import render_fields, to_json
from postino.api.visibility import select_brands
from postino.client.types.stats import StatsView
from postino.rules.stats import summarize, summarize_by_network
from postino.values.auth import Role

routes = Routes("stats")
MAX_POSTS = 20_000
WINDOW = integer_parameter("window", "Length of the window that ends now, in seconds.", 1, 30 * 86_400, 86_400)


@routes.add("GET", "/v1/stats", role=Role.VIEWER, query=(WINDOW, NETWORK, BRAND), responses={200: StatsView})
async def get_stats(context: Context) -> JSONResponse:
    """Get statistics.

    Summarises the posts that ended within the window, in total and by network. Postino counts at most the latest
    20,000 posts; `complete` is false if there are more.
    """
    query, store = context.query, context.app.store
    window, now = timedelta(seconds=query[WINDOW]), await store.now()
    brands = select_brands(context.caller, query[BRAND])
    posts = await store.finished_posts(now - window, MAX_POSTS, network=query[NETWORK], brands=brands)
    return JSONResponse(
        {
            "since_at": to_json(now - window),
            "until_at": to_json(now),
            "complete": len(posts) < MAX_POSTS,
            **render_fields(summarize(posts, window)),
            "networks": {name: render_fields(it) for name, it in summarize_by_network(posts, window).items()},
        }
    )
