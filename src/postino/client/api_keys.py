"""API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.messages import ApiRequest, delete, get, post
from postino.client.types.auth import ApiKeyView, CreatedApiKeyView
from postino.client.types.requests import Id, Instant
from postino.client.types.schema import Page


class ApiKeys(Resource[SessionT]):
    """Create and revoke API keys."""

    @call
    def add(
        self,
        name: str,
        role: str,
        *,
        brands: Sequence[str] | None = None,
        job_types: Sequence[str] | None = None,
        expires_at: Instant | None = None,
        timezone: str | None = None,
        reason: str = "",
    ) -> ApiRequest[CreatedApiKeyView]:
        """Create an API key. Only this response contains its secret, `key`."""
        scopes: dict[str, Any] = {"brands": None if brands is None else [*brands]}
        scopes["job_types"] = None if job_types is None else [*job_types]
        expiry: dict[str, Any] = {"expires_at": expires_at, "timezone": timezone}
        return post("api-keys", name=name, role=role, **scopes, **expiry, reason=reason)

    @paginate
    def iterate(self, *, limit: int | None = None) -> ApiRequest[Page[ApiKeyView]]:
        """Iterate over all API keys, oldest first."""
        return get("api-keys", limit=limit)

    @call
    def remove(self, key_id: Id, *, reason: str = "") -> ApiRequest[ApiKeyView]:
        """Revoke an API key immediately."""
        return delete("api-keys", key_id, reason=reason)
