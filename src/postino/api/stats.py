"""`/v1/stats`: how well posts went out lately."""

from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.queries import LONGEST_WINDOW
from postino.api.query import query_of
from postino.api.views.fields import render_fields, to_json
from postino.api.visibility import select_brands
from postino.errors import WrongUse
from postino.rules.stats import summarize, summarize_by_network
from postino.wiring import Postino

MOST_POSTS = 20_000
USUAL = 86_400  # seconds


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["stats"])

    @router.get("/v1/stats")
    async def show_stats(request: Request) -> JSONResponse:
        """Of posts that ended in the last `window` seconds (a day), at most the latest 20,000: `network`, `brand`."""
        query = query_of(request, "window", "network", "brand")
        window, now = window_of(query.get("window")), await app.store.now()
        brands = select_brands(caller_of(request), query.get("brand"))
        ended = await app.store.finished_posts(now - window, MOST_POSTS, network=query.get("network"), brands=brands)
        return JSONResponse(
            {
                "since_at": to_json(now - window),
                "until_at": to_json(now),
                "complete": len(ended) < MOST_POSTS,
                **render_fields(summarize(ended, window)),
                "networks": {name: render_fields(it) for name, it in summarize_by_network(ended, window).items()},
            }
        )

    return router


def window_of(text: str | None) -> timedelta:
    if text is None:
        return timedelta(seconds=USUAL)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= LONGEST_WINDOW:
        told = f"window must be a whole number of seconds from 1 to {LONGEST_WINDOW}, not {text[:40]!r}."
        raise WrongUse(told, "window")
    return timedelta(seconds=int(text))
