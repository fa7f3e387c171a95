"""Accounts on the networks."""

from __future__ import annotations

from collections.abc import Mapping

from postino.client.endpoints import Resource, SessionT, call
from postino.client.messages import ApiRequest, get, post
from postino.client.types.accounts import AccountCheckView, AccountView
from postino.client.types.schema import Page


class Accounts(Resource[SessionT]):
    """Add, check, pause and reconnect accounts."""

    @call
    def list(
        self, *, network: str | None = None, brand: str | None = None, state: str | None = None
    ) -> ApiRequest[Page[AccountView]]:
        """Return all accounts in one page."""
        return get("accounts", network=network, brand=brand, state=state)

    @call
    def get(self, account_id: str) -> ApiRequest[AccountView]:
        """Return one account."""
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
    ) -> ApiRequest[AccountView]:
        """Add an account. Postino encrypts its credentials and never returns them."""
        options = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", network=network, handle=handle, credentials=dict(credentials), **options)

    @call
    def check(self, account_id: str) -> ApiRequest[AccountCheckView]:
        """Ask the network whether it accepts the credentials of an account."""
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
    ) -> ApiRequest[AccountView]:
        """Replace the credentials of an account. Posts that waited for them go out."""
        options = {"base_url": base_url, "brand": brand, "remote_id": remote_id, "reason": reason}
        return post("accounts", account_id, "reconnect", credentials=dict(credentials), **options)

    @call
    def pause(self, account_id: str, *, reason: str = "") -> ApiRequest[AccountView]:
        """Pause an account: its posts wait."""
        return post("accounts", account_id, "pause", reason=reason)

    @call
    def resume(self, account_id: str, *, reason: str = "") -> ApiRequest[AccountView]:
        """Resume a paused account."""
        return post("accounts", account_id, "resume", reason=reason)
