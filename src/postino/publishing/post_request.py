"""A request to publish a content on some accounts, and the checks of its times."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from postino.errors import WrongUse
from postino.rules.local_time import format_time
from postino.values.content import Content

PAST_TOLERANCE = timedelta(minutes=5)  # clocks differ, and a form may have been open for a while


class Unset(Enum):
    """Marks an optional argument that was not given, where None has a meaning."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRequest:
    """A content, the accounts that publish it, and when. Without `at` it is published now."""

    content: Content
    accounts: tuple[str, ...]
    at: datetime | None = None
    publish_until_at: datetime | None = None
    key: str | None = None
    allow_duplicate: bool = False
    allow_blackout: bool = False
    user_id: str | None = None


def check_times(request: PostRequest, now: datetime) -> None:
    """Raise WrongUse if the time of publication has passed, or is not before `publish_until`."""
    if request.at is not None and request.at < now - PAST_TOLERANCE:
        raise WrongUse(f"at: {format_time(request.at)} has passed. Leave it out to publish now.", field="at")
    check_until(request, now)


def check_until(request: PostRequest, now: datetime) -> None:
    until = request.publish_until_at
    if until is not None and until <= max(request.at or now, now):
        message = f"publish_until: {format_time(until)} is not after the time of publication."
        raise WrongUse(message, field="publish_until")
