"""Texts with a closed set of values. A test compares each with the enum of the domain."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
Cause: TypeAlias = Literal["exhausted", "permanent", "poison", "worker_killer", "missed", "given_up"]
AccountState: TypeAlias = Literal["active", "token_expired", "suspended", "locked", "paused"]
CircuitState: TypeAlias = Literal["closed", "open", "half_open"]
Scope: TypeAlias = Literal["all", "queue", "channel", "brand", "account", "service"]
PausedScope: TypeAlias = Literal["all", "queue", "channel", "brand", "account"]
BlackoutScope: TypeAlias = Literal["all", "channel", "brand", "account"]
GateKind: TypeAlias = Literal["pause", "token", "blackout", "breaker", "cooldown", "quota", "database"]
WaitKind: TypeAlias = GateKind | Literal["turn", "person", "missed"]
BlockerKind: TypeAlias = GateKind | Literal["cap", "awaiting_lookup", "not_due", "no_worker", "no_handler", "lag"]
DatabaseStanding: TypeAlias = Literal["open", "roll_call", "asked", "copy"]
CallVerdict: TypeAlias = Literal["accepted", "refused"]
Source: TypeAlias = Literal["call", "lookup", "person"]
CalendarWindow: TypeAlias = Literal["hour", "day", "month"]
ImportState: TypeAlias = Literal["checked", "saving", "saved"]
EventName: TypeAlias = Literal[
    "job.claimed",
    "job.completed",
    "job.retrying",
    "job.deferred",
    "job.failed",
    "job.uncertain",
    "job.rescued",
    "job.released",
    "job.cancelled",
    "job.edited",
    "job.rescheduled",
    "job.replayed",
    "job.resolved",
    "job.duplicated",
    "post.scheduled",
    "post.publishing",
    "post.published",
    "post.deferred",
    "post.uncertain",
    "post.failed",
    "post.cancelled",
    "account.state_changed",
    "account.token_expired",
    "account.suspended",
    "account.locked",
    "gate.paused",
    "gate.resumed",
    "gate.cooldown_started",
    "circuit.opened",
    "circuit.half_opened",
    "circuit.closed",
    "blackout.added",
    "blackout.removed",
    "database.standing_changed",
]
