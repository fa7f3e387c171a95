"""Accounts, and what keeps their posts back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack

from postino.client.house_shapes import Account, AddedBlackout, Blackout, Cap, Checked, Circuit, Gate
from postino.client.messages import Request, get, post, query_of, remove, send
from postino.client.ways import Room, Way, asks
from postino.client.wishes import Id, Instant, NewBlackout
from postino.client.words import Page


class Accounts(Room[Way]):
    @asks
    def page(
        self, *, network: str | None = None, brand: str | None = None, state: str | None = None
    ) -> Request[Page[Account]]:
        """All of them, in one page."""
        return get("accounts", network=network, brand=brand, state=state)

    @asks
    def get(self, account_id: str) -> Request[Account]:
        return get("accounts", account_id)

    @asks
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
    ) -> Request[Account]:
        """Its credentials are sealed, and never shown again."""
        where = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", network=network, handle=handle, credentials=dict(credentials), **where)

    @asks
    def check(self, account_id: str) -> Request[Checked]:
        """Asks the network whether it takes the credentials."""
        return post("accounts", account_id, "check")

    @asks
    def reconnect(
        self,
        account_id: str,
        credentials: Mapping[str, str],
        *,
        base_url: str | None = None,
        brand: str | None = None,
        remote_id: str | None = None,
        reason: str = "",
    ) -> Request[Account]:
        """New credentials: what waited for them goes out."""
        where = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", account_id, "reconnect", credentials=dict(credentials), **where)

    @asks
    def pause(self, account_id: str, *, reason: str = "") -> Request[Account]:
        """Its posts wait."""
        return post("accounts", account_id, "pause", reason=reason)

    @asks
    def resume(self, account_id: str, *, reason: str = "") -> Request[Account]:
        """Its posts go again."""
        return post("accounts", account_id, "resume", reason=reason)


class Blackouts(Room[Way]):
    @asks
    def page(self) -> Request[Page[Blackout]]:
        """All of them, in one page."""
        return get("blackouts")

    @asks
    def add(self, **fields: Unpack[NewBlackout]) -> Request[AddedBlackout]:
        """Publishes nothing in its windows from now on; with the `shifts` it makes."""
        return send("POST", "blackouts", body=fields)

    @asks
    def preview(self, **fields: Unpack[NewBlackout]) -> Request[AddedBlackout]:
        """What it would move; nothing is saved."""
        return replace(send("POST", "blackouts", body=fields), query=query_of({"preview": True}))

    @asks
    def remove(self, blackout_id: Id, *, reason: str = "") -> Request[Blackout]:
        return remove("blackouts", blackout_id, reason=reason)


class Circuits(Room[Way]):
    @asks
    def page(self) -> Request[Page[Circuit]]:
        """The services that were ever in trouble, in one page."""
        return get("circuits")

    @asks
    def open(
        self,
        service: str,
        *,
        reason: str,
        until: Instant | None = None,
        timezone: str | None = None,
        seconds: float | None = None,
    ) -> Request[Circuit]:
        """Leaves it alone until then, for so long or, with neither, until somebody closes it."""
        how_long: dict[str, Any] = {"until": until, "timezone": timezone, "seconds": seconds}
        return post("circuits", service, "open", reason=reason, **how_long)

    @asks
    def close(self, service: str, *, reason: str) -> Request[Circuit]:
        """Asks it again at once."""
        return post("circuits", service, "close", reason=reason)

    @asks
    def reset(self, service: str, *, reason: str) -> Request[Circuit]:
        """The same, as if it had never been in trouble."""
        return post("circuits", service, "reset", reason=reason)


class Gates(Room[Way]):
    @asks
    def pause(
        self, scope: Literal["all", "queue", "channel", "brand", "account"], name: str = "", *, reason: str = ""
    ) -> Request[Gate]:
        """Lets nothing of it start; `all` has no name."""
        return post("gates", scope, "pause", name=name, reason=reason)

    @asks
    def resume(
        self, scope: Literal["all", "queue", "channel", "brand", "account"], name: str = "", *, reason: str = ""
    ) -> Request[Gate]:
        """Lets it start again."""
        return post("gates", scope, "resume", name=name, reason=reason)

    @asks
    def warm(self, scope: Literal["channel", "account"], name: str, *, reason: str = "") -> Request[Gate]:
        """Ends a cool-down before its time."""
        return post("gates", scope, "warm", name=name, reason=reason)

    @asks
    def cap(self, channel: str, most: int | None, *, reason: str = "") -> Request[Cap]:
        """At most so many jobs of a channel run at once; None: as many as usual."""
        return send("POST", "channels", channel, "cap", body={"most": most, "reason": reason})
