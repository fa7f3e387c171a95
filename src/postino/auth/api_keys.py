"""API keys of programs: create and verify them. Only a digest is stored; the key is shown once, when it is created."""

import secrets
from collections.abc import Collection
from datetime import datetime

from postino.auth.user_checks import check_key_name, parse_brands, parse_job_types
from postino.errors import WrongUse
from postino.rules.sign_in import is_expired, is_worth_recording
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.auth import ApiKey, Role
from postino.values.job import new_id
from postino.vault.digests import SecretDigests

PREFIX = "postino_"
VISIBLE = len(PREFIX) + 8  # leading characters of a key that lists show
KEY_BYTES = 32
PURPOSE = "api key"


class KeyService:
    def __init__(self, store: Store, digests: SecretDigests) -> None:
        self.store = store
        self.digests = digests

    async def add(
        self,
        name: str,
        role: Role,
        *,
        brands: Collection[str] | None = None,
        job_types: Collection[str] | None = None,
        expires_at: datetime | None = None,
        act: AuditContext,
    ) -> tuple[ApiKey, str]:
        """Create an API key. Return it as stored, and its text, which cannot be read again later."""
        if expires_at is not None and is_expired(expires_at, await self.store.now()):
            raise WrongUse("expires_at: that time has passed. Give a future time, or leave it out.", "expires_at")
        text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
        key = ApiKey(
            id=new_id(),
            name=check_key_name(name),
            prefix=text[:VISIBLE],
            digest=await self.digests.digest(PURPOSE, text),
            role=role,
            brands=parse_brands(brands),
            job_types=parse_job_types(job_types, role),
            created_by=act.actor,
            expires_at=expires_at,
        )
        return await self.store.add_api_key(key, act), text

    async def authenticate(self, text: str) -> ApiKey | None:
        """Return the key with this text, or None if it is unknown, expired or revoked.

        The store is read on every call, so that revoking a key takes effect immediately.
        """
        if not text.startswith(PREFIX) or len(text) <= VISIBLE or not is_plain_text(text[:VISIBLE]):
            return None
        candidates, now = await self.store.api_keys_by_prefix(text[:VISIBLE])
        for key in candidates:
            if await self.digests.matches(PURPOSE, text, key.digest) and not is_expired(key.expires_at, now):
                if is_worth_recording(key.last_used_at, now):
                    await self.store.touch_api_key(key.id)
                return key
        return None


def read_prefix(text: str) -> str | None:
    """Return the part of an API key that lists show; None if the text is no API key, and may be another secret."""
    is_key = text.startswith(PREFIX) and len(text) >= 2 * VISIBLE and is_plain_text(text)
    return text[:VISIBLE] if is_key else None


def is_plain_text(text: str) -> bool:
    return text.isascii() and text.isprintable()
