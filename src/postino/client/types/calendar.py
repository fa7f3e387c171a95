"""The calendar: local days with their posts."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.literals import Status
from postino.client.types.schema import Date, Doc, Timestamp, Uuid


class CalendarPostView(TypedDict):
    """A post in the calendar."""

    id: Annotated[Uuid, Doc("Id of the post.")]
    status: Annotated[Status, Doc("Status of the post.")]
    network: Annotated[str, Doc("Network of the account.")]
    account: Annotated[str, Doc("Id of the account.")]
    scheduled_at: Annotated[Timestamp, Doc("When the post is scheduled, in UTC.")]
    local_time: Annotated[Timestamp, Doc("When the post is scheduled, in the time zone of the calendar.")]
    text: Annotated[str, Doc("Text of the post.")]


CalendarDayView = TypedDict(
    "CalendarDayView",
    {
        "date": Annotated[Date, Doc("The local date.")],
        "from": Annotated[Timestamp, Doc("Midnight at the start of the day.")],
        "to": Annotated[Timestamp, Doc("Midnight at the end of the day.")],
        "count": Annotated[int, Doc("Number of posts on this day.")],
        "count_is_exact": Annotated[bool, Doc("False if there are more posts than Postino counts.")],
        "has_more": Annotated[bool, Doc("True if `posts` does not hold all posts of the day.")],
        "posts": Annotated[list[CalendarPostView], Doc("The first posts of the day.")],
    },
)
CalendarDayView.__doc__ = "A local day with its first posts."


class CalendarView(TypedDict):
    """Local days with their posts."""

    timezone: Annotated[str, Doc("Time zone of the days.")]
    data: Annotated[list[CalendarDayView], Doc("One item for each day.")]
    next_cursor: Annotated[None, Doc("Always null: there is one page.")]
