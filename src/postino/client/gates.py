"""Accounts, and what keeps their posts back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack

from postino.client.endpoints import Resource, SessionT, call
from postino.client.house_shapes import Account, AddedBlackout, Blackout, Cap, Checked, Circuit, Gate
from postino.client.messages import ApiRequest, build_query, delete, get, post, send
from postino.client.wishes import Id, Instant, NewBlackout
from postino.client.words import Page


class Accounts(Resource[SessionT]):
    @call
    def page(
        self, *, network: str | None = None, brand: str | None = None, state: str | None = None
    ) -> ApiRequest[Page[Account]]:
        """All of them, in one page."""
        return get("accounts", network=network, brand=brand, state=state)

    @call
    def get(self, account_id: str) -> ApiRequest[Account]:
        return get("accounts", account_id)

    @call
    def add(
        self,
        network: str,
        handle: str,
        credentials: Mapping[str, str],
        *,
        base_url: str | None = None,
        brand: str | None = None,
        remote_id: str | None = None,
        reason: str = "",
    ) -> ApiRequest[Account]:
        """Its credentials are sealed, and never shown again."""
        where = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", network=network, handle=handle, credentials=dict(credentials), **where)

    @call
    def check(self, account_id: str) -> ApiRequest[Checked]:
        """Asks the network whether it takes the credentials."""
        return post("accounts", account_id, "check")

    @call
    def reconnect(
        self,
        account_id: str,
        credentials: Mapping[str, str],
        *,
        base_url: str | None = None,
        brand: str | None = None,
        remote_id: str | None = None,
        reason: str = "",
    ) -> ApiRequest[Account]:
        """New credentials: what waited for them goes out."""
        where = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", account_id, "reconnect", credentials=dict(credentials), **where)

    @call
    def pause(self, account_id: str, *, reason: str = "") -> ApiRequest[Account]:
        """Its posts wait."""
        return post("accounts", account_id, "pause", reason=reason)

    @call
    def resume(self, account_id: str, *, reason: str = "") -> ApiRequest[Account]:
        """Its posts go again."""
        return post("accounts", account_id, "resume", reason=reason)


class Blackouts(Resource[SessionT]):
    @call
    def page(self) -> ApiRequest[Page[Blackout]]:
        """All of them, in one page."""
        return get("blackouts")

    @call
    def add(self, **fields: Unpack[NewBlackout]) -> ApiRequest[AddedBlackout]:
        """Publishes nothing in its windows from now on; with the `shifts` it makes."""
        return send("POST", "blackouts", body=fields)

    @call
    def preview(self, **fields: Unpack[NewBlackout]) -> ApiRequest[AddedBlackout]:
        """What it would move; nothing is saved."""
        return replace(send("POST", "blackouts", body=fields), query=build_query({"preview": True}))

    @call
    def remove(self, blackout_id: Id, *, reason: str = "") -> ApiRequest[Blackout]:
        return delete("blackouts", blackout_id, reason=reason)


class Circuits(Resource[SessionT]):
    @call
    def page(self) -> ApiRequest[Page[Circuit]]:
        """The services that were ever in trouble, in one page."""
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
    ) -> ApiRequest[Circuit]:
        """Leaves it alone until then, for so long or, with neither, until somebody closes it."""
        how_long: dict[str, Any] = {"until": until, "timezone": timezone, "seconds": seconds}
        return post("circuits", service, "open", reason=reason, **how_long)

    @call
    def close(self, service: str, *, reason: str) -> ApiRequest[Circuit]:
        """Asks it again at once."""
        return post("circuits", service, "close", reason=reason)

    @call
    def reset(self, service: str, *, reason: str) -> ApiRequest[Circuit]:
        """The same, as if it had never been in trouble."""
        return post("circuits", service, "reset", reason=reason)


class Gates(Resource[SessionT]):
    @call
    def pause(
        self, scope: Literal["all", "queue", "channel", "brand", "account"], name: str = "", *, reason: str = ""
    ) -> ApiRequest[Gate]:
        """Lets nothing of it start; `all` has no name."""
        return post("gates", scope, "pause", name=name, reason=reason)

    @call
    def resume(
        self, scope: Literal["all", "queue", "channel", "brand", "account"], name: str = "", *, reason: str = ""
    ) -> ApiRequest[Gate]:
        """Lets it start again."""
        return post("gates", scope, "resume", name=name, reason=reason)

    @call
    def warm(self, scope: Literal["channel", "account"], name: str, *, reason: str = "") -> ApiRequest[Gate]:
        """Ends a cool-down before its time."""
        return post("gates", scope, "warm", name=name, reason=reason)

    @call
    def cap(self, channel: str, most: int | None, *, reason: str = "") -> ApiRequest[Cap]:
        """At most so many jobs of a channel run at once; None: as many as usual."""
        return send("POST", "channels", channel, "cap", body={"most": most, "reason": reason})
