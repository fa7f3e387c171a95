"""Blackouts, circuit breakers, pauses, cooldowns and caps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack

from postino.client.endpoints import Resource, SessionT, call
from postino.client.messages import ApiRequest, build_query, delete, get, post, send
from postino.client.types.gates import BlackoutView, ChannelCapView, CircuitView, CreatedBlackoutView, GateView
from postino.client.types.literals import PausedScope
from postino.client.types.requests import BlackoutFields, Id, Instant
from postino.client.types.schema import Page


class Blackouts(Resource[SessionT]):
    """Time windows in which Postino publishes nothing."""

    @call
    def list(self) -> ApiRequest[Page[BlackoutView]]:
        """Return all blackouts in one page."""
        return get("blackouts")

    @call
    def add(self, **fields: Unpack[BlackoutFields]) -> ApiRequest[CreatedBlackoutView]:
        """Add a blackout, effective at once. `shifts` lists the jobs that it delays."""
        return send("POST", "blackouts", body=fields)

    @call
    def preview(self, **fields: Unpack[BlackoutFields]) -> ApiRequest[CreatedBlackoutView]:
        """Return the jobs that a blackout would delay, without saving it."""
        return replace(send("POST", "blackouts", body=fields), query=build_query({"preview": True}))

    @call
    def remove(self, blackout_id: Id, *, reason: str = "") -> ApiRequest[BlackoutView]:
        """Remove a blackout."""
        return delete("blackouts", blackout_id, reason=reason)


class Circuits(Resource[SessionT]):
    """Circuit breakers, one for each service."""

    @call
    def list(self) -> ApiRequest[Page[CircuitView]]:
        """Return the circuit of every service that has ever failed, in one page."""
        return get("circuits")

    @call
    def open(
        self,
        service: str,
        *,
        reason: str,
        until: Instant | None = None,
        timezone: str | None = None,
        seconds: float | None = None,
    ) -> ApiRequest[CircuitView]:
        """Open a circuit `until` a time, for `seconds`, or until a person closes it."""
        duration: dict[str, Any] = {"until": until, "timezone": timezone, "seconds": seconds}
        return post("circuits", service, "open", reason=reason, **duration)

    @call
    def close(self, service: str, *, reason: str) -> ApiRequest[CircuitView]:
        """Close a circuit: requests to the service resume at once."""
        return post("circuits", service, "close", reason=reason)

    @call
    def reset(self, service: str, *, reason: str) -> ApiRequest[CircuitView]:
        """Close a circuit and forget its failures."""
        return post("circuits", service, "reset", reason=reason)


class Gates(Resource[SessionT]):
    """Pauses, cooldowns and caps."""

    @call
    def pause(self, scope: PausedScope, name: str = "", *, reason: str = "") -> ApiRequest[GateView]:
        """Keep jobs from starting. The scope `all` has no name."""
        return post("gates", scope, "pause", name=name, reason=reason)

    @call
    def resume(self, scope: PausedScope, name: str = "", *, reason: str = "") -> ApiRequest[GateView]:
        """End a pause."""
        return post("gates", scope, "resume", name=name, reason=reason)

    @call
    def end_cooldown(
        self, scope: Literal["channel", "account"], name: str, *, reason: str = ""
    ) -> ApiRequest[GateView]:
        """End a cooldown early."""
        return post("gates", scope, "end-cooldown", name=name, reason=reason)

    @call
    def cap(self, channel: str, cap: int | None, *, reason: str = "") -> ApiRequest[ChannelCapView]:
        """Limit how many jobs of a channel run at once. None restores the cap from the settings."""
        return send("POST", "channels", channel, "cap", body={"cap": cap, "reason": reason})
