"""Signing in to Bluesky. Sessions live in memory only: what is written down about a step must hold no token."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from postino.providers.error_codes import UNKNOWN_CALLER, said_in
from postino.providers.urls import endpoint
from postino.rules.failures import is_definite_refusal
from postino.values.provider import Account, Answer, Failure, Http, NoResponse, NotSent, Tokens, UnreadableResponse

SESSION_OVER = frozenset({"ExpiredToken", "InvalidToken"})


@dataclass(frozen=True, slots=True)
class Session:
    did: str
    access_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sessions:
    """One per account, as long as this process lives and the network takes it."""

    classify: Callable[[Answer], Failure]
    _open: dict[str, Session] = field(default_factory=dict, repr=False)

    async def ask(self, http: Http, account: Account, method: str, name: str, **sending: Any) -> Answer | Failure:
        """Calls with a session; if it turns out to be over, once more with a new one. A refused call did nothing."""
        headers = sending.pop("headers", {})
        for last in (False, True):
            session = await self.of(http, account)
            if isinstance(session, Failure):
                return session
            bearer = {"Authorization": f"Bearer {session.access_token}"}
            answer = await http.request(method, xrpc(account, name), headers=headers | bearer, **sending)
            if last or said_in(answer).get("error") not in SESSION_OVER or "password" not in account.credentials:
                break
            self._open.pop(_place(account), None)
        return answer

    async def of(self, http: Http, account: Account) -> Session | Failure:
        """Raises NotSent if nobody could sign in: then nothing of what was to be said has left."""
        if "password" not in account.credentials:
            token = account.credentials.get("access_token", "").strip()
            if not token:
                return self.classify(UNKNOWN_CALLER)
            return Session(account.remote_id or str(_claims(token).get("sub", "")), token)
        if known := self._open.get(_place(account)):
            return known
        try:
            session = await self.create(http, account)
        except NoResponse as lost:
            raise NotSent(f"Bluesky could not be signed in to, so nothing was sent. {lost}") from None
        if isinstance(session, Failure) and not is_definite_refusal(session):
            raise NotSent(f"Bluesky could not be signed in to, so nothing was sent. {session.message}")
        return session

    async def create(self, http: Http, account: Account) -> Session | Failure:
        told = {"identifier": account.credentials.get("identifier") or account.handle}
        told |= {"password": account.credentials["password"].strip()}
        answer = await http.request("POST", xrpc(account, "com.atproto.server.createSession"), json=told)
        if not answer.ok:
            return self.classify(answer)
        match said_in(answer):
            case {"did": str(did), "accessJwt": str(access)}:
                self._open[_place(account)] = session = Session(did, access)
                return session
        # Not by Answer.json: its complaint would show the beginning of the answer, where the tokens are.
        raise UnreadableResponse("The answer to signing in cannot be read.")

    async def renew(self, http: Http, account: Account) -> Tokens | Failure:
        """For accounts that came with tokens instead of a password."""
        token = account.credentials.get("refresh_token", "").strip()
        if not token:
            return self.classify(UNKNOWN_CALLER)
        bearer = {"Authorization": f"Bearer {token}"}
        answer = await http.request("POST", xrpc(account, "com.atproto.server.refreshSession"), headers=bearer)
        if not answer.ok:
            return self.classify(answer)
        match said_in(answer):
            case {"accessJwt": str(access), "refreshJwt": str(refresh)}:
                fresh = {**account.credentials, "access_token": access, "refresh_token": refresh}
                return Tokens(credentials=fresh, expires_at=_ends_at(access))
        raise UnreadableResponse("The answer with the new tokens cannot be read.")


def xrpc(account: Account, name: str) -> str:
    return endpoint(account.base_url, f"xrpc/{name}")


def _place(account: Account) -> str:
    """Changed credentials are another place: nobody goes on under a password that was replaced."""
    told = json.dumps([account.base_url, *sorted(account.credentials.items())])
    return hashlib.sha256(told.encode()).hexdigest()


def _claims(token: str) -> dict[str, Any]:
    """What a token says about itself; nothing if it cannot be read. Nobody relies on it but ourselves."""
    try:
        _, payload, _ = token.split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _ends_at(token: str) -> datetime | None:
    match _claims(token):
        case {"exp": int(seconds)} if 0 < seconds < 1 << 34:
            return datetime.fromtimestamp(seconds, UTC)
    return None
