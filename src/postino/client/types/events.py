"""Events of the event stream."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from postino.client.types.literals import EventName
from postino.client.types.schema import Doc, Timestamp, Uuid


class EventView(TypedDict):
    """Something that happened."""

    id: Annotated[str, Doc("Id of the event; pass it as `after` to continue there.")]
    type: Annotated[EventName, Doc("Type of the event.")]
    at: Annotated[Timestamp, Doc("When it happened.")]
    job_id: Annotated[Uuid | None, Doc("Id of the job that the event concerns.")]
    brand: Annotated[str | None, Doc("Brand that the event concerns.")]
    data: Annotated[Any, Doc("Further fields of this type of event.")]
