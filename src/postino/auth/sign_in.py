"""Sign-in with a password or a one-time link; sessions, their cookies and their CSRF tokens.

Cookies and links are stored as digests only. Failed passwords are throttled by user name and by address.
"""

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from postino.auth.addresses import group_address
from postino.auth.passwords import Passwords, check_password
from postino.auth.refusal_log import SIGN_IN_REFUSED, RefusalLog
from postino.auth.user_checks import normalize_name
from postino.auth.users import UserService
from postino.errors import Conflict
from postino.rules.sign_in import (
    ADDRESS_POLICY,
    SESSION_IDLE_LIMIT,
    SESSION_LIFETIME,
    SIGN_IN_LINK_LIFETIME,
    USER_POLICY,
    is_expired,
    is_idle,
    is_worth_recording,
)
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.auth import Role, Session, User
from postino.values.job import new_id
from postino.vault.digests import SecretDigests

SECRET_BYTES = 32
SESSION, SIGN_IN_LINK = "session", "sign-in link"  # purposes of digests
THROTTLED_NAME, THROTTLED_ADDRESS = "throttled name", "throttled address"
OWNER = "owner"  # the user that the links of `postino up` sign in


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that is signed in: the value of its cookie, and the token it sends with every change."""

    user: User
    session_id: UUID
    cookie: str = field(repr=False)
    csrf_token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignInRefused:
    """The name or the password is wrong. The error does not say which."""


@dataclass(frozen=True, slots=True)
class SignInThrottled:
    """Too many failed attempts: the next attempt is accepted after this many seconds."""

    seconds: int


class SignInService:
    def __init__(
        self, store: Store, digests: SecretDigests, passwords: Passwords, refusals: RefusalLog | None = None
    ) -> None:
        self.store = store
        self.refusals = refusals or RefusalLog()
        self.digests = digests
        self.passwords = passwords

    async def login(self, name: str, password: str, address: str) -> BrowserSession | SignInRefused | SignInThrottled:
        """Sign a user in with a password, and log a refusal."""
        user = await self.verify_password(name, password, address)
        if not isinstance(user, User):
            return user
        session, cookie = await self.create_session(user.id)
        return to_browser_session(await self.store.start_session(session, as_user(user)), user, cookie)

    async def change_password(
        self,
        name: str,
        password: str,
        new_password: str,
        address: str,
        *,
        cookie: str | None = None,
        reason: str | None = None,
    ) -> User | SignInRefused | SignInThrottled:
        """Give a user who knows the password a new one. Ends all sessions of the user but the one of the cookie."""
        check_password(new_password, name, field="new_password")
        user = await self.verify_password(name, password, address)
        if not isinstance(user, User):
            return user
        session = await self.find_session(cookie, touch=False) if cookie else None
        kept = session.session_id if session is not None and session.user.id == user.id else None
        changed = replace(user, password=await self.passwords.hash(new_password))
        return await self.store.change_user(
            changed, ["password"], as_user(user, reason), old_password=user.password, kept_session=kept
        )

    async def verify_password(self, name: str, password: str, address: str) -> User | SignInRefused | SignInThrottled:
        """Return the user if the password is right, and log a refusal."""
        result = await self.count_attempt(normalize_name(name), password, address)
        if not isinstance(result, User):
            user = await self.store.user_by_name(normalize_name(name))
            self.log_refusal(user, address, result.seconds if isinstance(result, SignInThrottled) else None)
        return result

    def log_refusal(self, user: User | None, address: str, wait: int | None = None) -> None:
        """Log a refused sign-in. It is not audited: the audit trail records changes, and strangers could fill it.

        A name that no user has is not logged: it may be a password typed into the wrong field.
        """
        self.refusals.warn(SIGN_IN_REFUSED, address, user=None if user is None else user.name, wait=wait)

    async def count_attempt(self, name: str, password: str, address: str) -> User | SignInRefused | SignInThrottled:
        """Count the attempt before verifying it, so that concurrent guesses are all counted."""
        name_digest = await self.digests.digest(THROTTLED_NAME, name)
        address_digest = await self.digests.digest(THROTTLED_ADDRESS, group_address(address))
        until_at = await self.store.begin_login({name_digest: USER_POLICY, address_digest: ADDRESS_POLICY})
        if until_at is not None:
            left = until_at - await self.store.now()
            return SignInThrottled(max(1, math.ceil(left / timedelta(seconds=1))))
        user = await self.store.user_by_name(name)
        if not await self.passwords.verify(password, user.password if user else None) or user is None:
            return SignInRefused()
        await self.store.forgive_login(name_digest, address_digest)
        if user.password is not None and self.passwords.is_outdated(user.password):
            user = replace(user, password=await self.passwords.hash(password))
            await self.store.update_password_hash(user.id, user.password or "")
        return user

    async def create_session(self, user_id: UUID) -> tuple[Session, str]:
        """Return a new session, not stored yet, and its cookie."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        expires_at = await self.store.now() + SESSION_LIFETIME
        digest = await self.digests.digest(SESSION, secret)
        session = Session(id=new_id(), user_id=user_id, digest=digest, expires_at=expires_at)
        return session, join_token(session.id, secret)

    async def find_session(self, cookie: str, *, touch: bool = True) -> BrowserSession | None:
        """Return the session of a cookie, or None if it is unknown, expired or idle for too long.

        The call counts as use of the session unless `touch` is false.
        """
        parts = split_token(cookie)
        row = None if parts is None else await self.store.session(parts[0])
        if parts is None or row is None:
            return None
        session, user, now = row
        seen_at = session.seen_at or now
        matches = await self.digests.matches(SESSION, parts[1], session.digest)
        if not matches or is_expired(session.expires_at, now) or is_idle(seen_at, now):
            return None
        if touch and is_worth_recording(seen_at, now):
            await self.store.touch_session(session.id)
        return to_browser_session(session, user, cookie)

    async def logout(self, session: BrowserSession) -> None:
        await self.store.end_session(session.session_id, as_user(session.user))

    async def create_link(self, user_id: UUID, act: AuditContext) -> str:
        """Return a token that signs this user in once, within ten minutes."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        digest, expires_at = (
            await self.digests.digest(SIGN_IN_LINK, secret),
            await self.store.now() + SIGN_IN_LINK_LIFETIME,
        )
        link = Session(id=new_id(), user_id=user_id, digest=digest, expires_at=expires_at)
        await self.store.add_sign_in_link(link, act)
        return join_token(link.id, secret)

    async def follow_link(self, token: str) -> BrowserSession | None:
        """Sign in with a link's token; None if it is unknown, expired or was used before."""
        parts = split_token(token)
        row = None if parts is None else await self.store.sign_in_link(parts[0])
        if parts is None or row is None:
            return None
        link, user, now = row
        if not await self.digests.matches(SIGN_IN_LINK, parts[1], link.digest) or is_expired(link.expires_at, now):
            return None
        session, cookie = await self.create_session(user.id)
        started = await self.store.use_sign_in_link(link.id, session, as_user(user))
        return None if started is None else to_browser_session(started, user, cookie)


async def create_sign_in_url(
    users: UserService, sign_in: SignInService, url: str, act: AuditContext, name: str = OWNER
) -> str:
    """Return a URL that signs a browser in once. Creates the user as an owner without a password if it is missing."""
    user = await users.store.user_by_name(name)
    if user is None:
        try:
            user = await users.add(name, Role.OWNER, act=act)
        except Conflict:  # another process has just created it
            user = await users.get_by_name(name)
    return f"{url.rstrip('/')}/sign-in?token={await sign_in.create_link(user.id, act)}"


def to_browser_session(session: Session, user: User, cookie: str) -> BrowserSession:
    idle_at = (session.seen_at or session.expires_at) + SESSION_IDLE_LIMIT
    return BrowserSession(user, session.id, cookie, derive_csrf_token(cookie), min(idle_at, session.expires_at))


def derive_csrf_token(cookie: str) -> str:
    """Return the CSRF token of a session. Its cookie cannot be derived from it."""
    return hmac.new(cookie.encode(), b"postino csrf 1", hashlib.sha256).hexdigest()


def as_user(user: User, reason: str | None = None) -> AuditContext:
    return AuditContext(f"user:{user.name}", reason or "")


def join_token(public: UUID, secret: str) -> str:
    return f"{public.hex}.{secret}"


def split_token(text: str) -> tuple[UUID, str] | None:
    """Return the id and the secret of a cookie or link; None if the text is neither."""
    public, dot, secret = text.partition(".")
    if not dot or not secret or not text.isascii() or len(public) != 32:
        return None
    try:
        return UUID(public), secret
    except ValueError:
        return None
