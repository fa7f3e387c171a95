"""Sign-in with a password or a one-time link; sessions, their cookies and their CSRF tokens.

Cookies and links are stored as digests only. Failed passwords are throttled by user name and by address.
"""

import hashlib
import hmac
import ipaddress
import math
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from postino.auth.passwords import Passwords
from postino.auth.user_checks import normalize_name
from postino.auth.users import UserService
from postino.errors import Conflict
from postino.rules.login_throttle import (
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

log = structlog.get_logger("postino.sign_in")
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
    """The name or the password is wrong; which of the two is never said."""


@dataclass(frozen=True, slots=True)
class SignInThrottled:
    """Too many failed attempts: the next attempt is accepted after this many seconds."""

    seconds: int


class SignInService:
    def __init__(self, store: Store, digests: SecretDigests, passwords: Passwords) -> None:
        self.store = store
        self.digests = digests
        self.passwords = passwords

    async def login(self, name: str, password: str, address: str) -> BrowserSession | SignInRefused | SignInThrottled:
        """Sign a user in with a password, and log a refusal."""
        result = await self.verify_password(normalize_name(name), password, address)
        if not isinstance(result, BrowserSession):
            user = await self.store.user_by_name(normalize_name(name))
            log_refusal(user, address, result.seconds if isinstance(result, SignInThrottled) else None)
        return result

    async def verify_password(
        self, name: str, password: str, address: str
    ) -> BrowserSession | SignInRefused | SignInThrottled:
        """Count the attempt before verifying it, so that concurrent guesses are all counted."""
        name_digest = self.digests.digest(THROTTLED_NAME, name)
        address_digest = self.digests.digest(THROTTLED_ADDRESS, group_address(address))
        until_at = await self.store.begin_login({name_digest: USER_POLICY, address_digest: ADDRESS_POLICY})
        if until_at is not None:
            left = until_at - await self.store.now()
            return SignInThrottled(max(1, math.ceil(left / timedelta(seconds=1))))
        user = await self.store.user_by_name(name)
        if not await self.passwords.verify(password, user.password if user else None) or user is None:
            return SignInRefused()
        await self.store.forgive_login(name_digest, address_digest)
        if user.password is not None and self.passwords.is_outdated(user.password):
            await self.store.update_password_hash(user.id, await self.passwords.hash(password))
        session, cookie = await self.create_session(user.id)
        return to_browser_session(await self.store.start_session(session, as_user(user)), user, cookie)

    async def create_session(self, user_id: UUID) -> tuple[Session, str]:
        """Return a new session, not stored yet, and its cookie."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        expires_at = await self.store.now() + SESSION_LIFETIME
        digest = self.digests.digest(SESSION, secret)
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
        matches = self.digests.matches(SESSION, parts[1], session.digest)
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
        digest, expires_at = self.digests.digest(SIGN_IN_LINK, secret), await self.store.now() + SIGN_IN_LINK_LIFETIME
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
        if not self.digests.matches(SIGN_IN_LINK, parts[1], link.digest) or is_expired(link.expires_at, now):
            return None
        session, cookie = await self.create_session(user.id)
        started = await self.store.use_sign_in_link(link.id, session, as_user(user))
        return None if started is None else to_browser_session(started, user, cookie)


def log_refusal(user: User | None, address: str, wait: int | None = None) -> None:
    """Log a refused sign-in. It is not audited: the audit trail records changes, and strangers could fill it.

    A name that no user has is not logged: it may be a password typed into the wrong field.
    """
    log.warning("sign_in.refused", user=None if user is None else user.name, address=address, wait=wait)


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


def as_user(user: User) -> AuditContext:
    return AuditContext(f"user:{user.name}")


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


def group_address(address: str) -> str:
    """Return what attempts are counted by: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
