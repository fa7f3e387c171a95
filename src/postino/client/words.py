"""The words answers are made of: texts of a certain form, and those of which there is a closed number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from typing_extensions import TypedDict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is written, as openapi.json tells it."""

    name: str

    def __get_pydantic_json_schema__(self, told: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(told) | {"format": self.name}


At: TypeAlias = Annotated[str, Form("date-time")]
Day: TypeAlias = Annotated[str, Form("date")]
Uuid: TypeAlias = Annotated[str, Form("uuid")]

Role: TypeAlias = Literal["owner", "editor", "viewer"]
State: TypeAlias = Literal["pending", "running", "uncertain", "completed", "failed", "cancelled"]
Status: TypeAlias = Literal["scheduled", "publishing", "published", "failed", "cancelled", "uncertain"]
ContentStatus: TypeAlias = Literal[
    "draft", "scheduled", "publishing", "published", "partially_published", "failed", "cancelled", "uncertain"
]
Flag: TypeAlias = Literal["retrying", "deferred", "late", "at_risk"]
QueueName: TypeAlias = Literal["high", "default", "low"]
Severity: TypeAlias = Literal["error", "warning"]
MediaKind: TypeAlias = Literal["image", "video"]
Cause: TypeAlias = Literal["exhausted", "permanent", "poison", "quarantined", "missed", "given_up"]
AccountState: TypeAlias = Literal["active", "token_expired", "paused"]
CircuitState: TypeAlias = Literal["closed", "open", "half_open"]
Scope: TypeAlias = Literal["all", "queue", "channel", "brand", "account"]
BlackoutScope: TypeAlias = Literal["all", "channel", "brand", "account"]
GateKind: TypeAlias = Literal["pause", "token", "blackout", "breaker", "cool_down", "quota"]
WaitKind: TypeAlias = GateKind | Literal["turn", "person", "missed"]
BlockerKind: TypeAlias = GateKind | Literal["cap", "quarantine", "not_due", "no_worker", "lag"]
CallVerdict: TypeAlias = Literal["accepted", "refused"]
Source: TypeAlias = Literal["call", "look", "person"]
CalendarWindow: TypeAlias = Literal["hour", "day", "month"]
ImportState: TypeAlias = Literal["checked", "saving", "saved"]


class Page(TypedDict, Generic[T]):
    """Some of a list; `next_cursor` asks for those that follow, null where there are none."""

    data: list[T]
    next_cursor: str | None
