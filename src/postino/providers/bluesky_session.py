"""Sign in to Bluesky. Sessions stay in memory only: the stored result of a step must not contain a token."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from postino.providers.error_codes import MISSING_TOKEN, parse_object
from postino.providers.urls import join_url
from postino.rules.failures import is_definite_refusal
from postino.values.json_text import parse_json
from postino.values.provider import Account, Answer, Failure, Http, LostResponse, NotSent, Tokens, UnreadableResponse

SESSION_EXPIRED = frozenset({"ExpiredToken", "InvalidToken"})


@dataclass(frozen=True, slots=True)
class BlueskySession:
    did: str
    access_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BlueskySessions:
    """One session per account, for as long as this process runs and the network accepts it."""

    classify: Callable[[Answer], Failure]
    _open: dict[str, BlueskySession] = field(default_factory=dict, repr=False)

    async def call(self, http: Http, account: Account, method: str, name: str, **content: Any) -> Answer | Failure:
        """Call with a session; if it has expired, call once more with a new one. The refused call had no effect."""
        headers = content.pop("headers", {})
        for last in (False, True):
            session = await self.get(http, account)
            if isinstance(session, Failure):
                return session
            bearer = {"Authorization": f"Bearer {session.access_token}"}
            answer = await http.request(method, build_xrpc_url(account, name), headers=headers | bearer, **content)
            if (
                last
                or parse_object(answer).get("error") not in SESSION_EXPIRED
                or "password" not in account.credentials
            ):
                break
            self._open.pop(_make_key(account), None)
        return answer

    async def get(self, http: Http, account: Account) -> BlueskySession | Failure:
        """Return the session of the account, signing in if there is none. Raises NotSent if that fails."""
        if "password" not in account.credentials:
            token = account.credentials.get("access_token", "").strip()
            if not token:
                return self.classify(MISSING_TOKEN)
            return BlueskySession(account.remote_id or str(_decode_claims(token).get("sub", "")), token)
        if session := self._open.get(_make_key(account)):
            return session
        try:
            created = await self.create(http, account)
        except LostResponse as lost:
            raise NotSent(f"The post was not sent: signing in to Bluesky failed. {lost}") from None
        if isinstance(created, Failure) and not is_definite_refusal(created):
            raise NotSent(f"The post was not sent: signing in to Bluesky failed. {created.message}")
        return created

    async def create(self, http: Http, account: Account) -> BlueskySession | Failure:
        identifier = account.credentials.get("identifier") or account.handle
        body = {"identifier": identifier, "password": account.credentials["password"].strip()}
        url = build_xrpc_url(account, "com.atproto.server.createSession")
        answer = await http.request("POST", url, json=body, inert=True)
        if not answer.ok:
            return self.classify(answer)
        match parse_object(answer):
            case {"did": str(did), "accessJwt": str(access)}:
                self._open[_make_key(account)] = session = BlueskySession(did, access)
                return session
        raise UnreadableResponse("Bluesky's response to signing in cannot be read.")

    async def renew(self, http: Http, account: Account) -> Tokens | Failure:
        """Renew the tokens of an account that was connected with tokens instead of a password."""
        token = account.credentials.get("refresh_token", "").strip()
        if not token:
            return self.classify(MISSING_TOKEN)
        bearer = {"Authorization": f"Bearer {token}"}
        url = build_xrpc_url(account, "com.atproto.server.refreshSession")
        answer = await http.request("POST", url, headers=bearer, inert=True)
        if not answer.ok:
            return self.classify(answer)
        match parse_object(answer):
            case {"accessJwt": str(access), "refreshJwt": str(refresh)}:
                renewed = {**account.credentials, "access_token": access, "refresh_token": refresh}
                return Tokens(credentials=renewed, expires_at=_parse_expiry(access))
        raise UnreadableResponse("Bluesky's response with the new tokens cannot be read.")


def build_xrpc_url(account: Account, name: str) -> str:
    return join_url(account.base_url, f"xrpc/{name}")


def _make_key(account: Account) -> str:
    """Return the key of the account's session. Changed credentials make another key, so the old session ends."""
    identity = json.dumps([account.base_url, *sorted(account.credentials.items())])
    return hashlib.sha256(identity.encode()).hexdigest()


def _decode_claims(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without verifying it; an empty dict if it cannot be decoded."""
    try:
        _, payload, _ = token.split(".")
        claims = parse_json(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _parse_expiry(token: str) -> datetime | None:
    match _decode_claims(token):
        case {"exp": int(seconds)} if 0 < seconds < 1 << 34:
            return datetime.fromtimestamp(seconds, UTC)
    return None
