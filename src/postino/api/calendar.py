"""`/v1/calendar`: local days with their posts."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import Asking
from postino.api.query import limit_of, query_of
from postino.publishing.calendar import CalendarService, parse_days
from postino.values.time_zones import get_zone
from postino.wiring import Postino

USUAL = "20"


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["calendar"])
    calendar = CalendarService(app.store)

    @router.get("/v1/calendar")
    async def show_calendar(request: Request, caller: Asking) -> JSONResponse:
        """The days `from` to `to`, both included, in `timezone`; of each at most `limit` posts, cancelled ones too."""
        query = query_of(request, "from", "to", "timezone", "brand", "limit")
        first, last = parse_days(query.get("from"), query.get("to"))
        timezone = get_zone(query.get("timezone", "UTC")).key
        brands = caller.brands
        if "brand" in query:
            brands = frozenset([query["brand"]] if caller.sees(query["brand"]) else [])
        most = limit_of({"limit": query.get("limit", USUAL)})
        days = await calendar.list_days(first, last, timezone, brands, most)
        return JSONResponse({"timezone": timezone, "data": days, "next_cursor": None})

    return router
