"""`/v1/calendar`: local days with their posts."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import BRAND, MAX_LIMIT, MIN_LIMIT, Parameter, integer_parameter, text_parameter
from postino.api.routes import Routes
from postino.client.types.calendar import CalendarView
from postino.publishing.calendar import CalendarService, parse_days
from postino.values.auth import Role
from postino.values.time_zones import get_zone

routes = Routes("calendar")
DAY = {"type": "string", "format": "date"}
FROM = text_parameter("from", "First day, such as 2026-03-01.", schema=DAY, required=True)
TO = text_parameter("to", "Last day, inclusive.", schema=DAY, required=True)
TIMEZONE = Parameter("timezone", "IANA time zone of the days. Left out: UTC.", str, "UTC")
LIMIT = integer_parameter("limit", "Maximum number of posts per day.", MIN_LIMIT, MAX_LIMIT, 20)


@routes.add(
    "GET", "/v1/calendar", role=Role.VIEWER, query=(FROM, TO, TIMEZONE, BRAND, LIMIT), responses={200: CalendarView}
)
async def get_calendar(context: Context) -> JSONResponse:
    """Get calendar.

    Returns each local day from `from` to `to`, with the first posts of the day and the number of its posts.
    The days include cancelled posts.
    """
    query, caller = context.query, context.caller
    first, last = parse_days(query[FROM], query[TO])
    timezone = get_zone(query[TIMEZONE]).key
    brands, brand = caller.brands, query[BRAND]
    if brand is not None:
        brands = frozenset([brand] if caller.can_see(brand) else [])
    days = await CalendarService(context.app.store).list_days(first, last, timezone, brands, query[LIMIT])
    return JSONResponse({"timezone": timezone, "data": days, "next_cursor": None})
