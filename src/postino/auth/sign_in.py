"""How people come in: a password, or a link that works once; then a cookie, and a token for whatever changes things."""

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
from postino.auth.users import People, folded
from postino.errors import Conflict
from postino.rules.login_throttle import ADDRESS, IDLE, LINK, LONGEST, USER, is_idle, is_over, worth_noting
from postino.stores.records import Act
from postino.stores.store import Store
from postino.values.auth import Role, Session, User
from postino.values.job import new_id
from postino.vault.digests import SecretDigests

log = structlog.get_logger("postino.signing_in")
SECRET_BYTES = 32
OF_SESSIONS, OF_LINKS, OF_NAMES, OF_ADDRESSES = "session", "sign-in link", "throttled name", "throttled address"
OWNER = "owner"  # whom the links of `postino up` sign in


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that came in: what its cookie holds, and what it must say with every change."""

    user: User
    session_id: UUID
    cookie: str = field(repr=False)
    csrf_token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignInRefused:
    """Not with this name and this password; which of the two is wrong is not told."""


@dataclass(frozen=True, slots=True)
class SignInThrottled:
    """Too many guesses: the next may be made in so many seconds."""

    seconds: int


class SignInService:
    def __init__(self, store: Store, seals: SecretDigests, passwords: Passwords) -> None:
        self.store = store
        self.seals = seals
        self.passwords = passwords

    async def login(self, name: str, password: str, address: str) -> BrowserSession | SignInRefused | SignInThrottled:
        """Each try is counted before it is looked at: a hundred at once are a hundred."""
        outcome = await self.tried(folded(name), password, address)
        if not isinstance(outcome, BrowserSession):
            user = await self.store.user_by_name(folded(name))
            note_refusal(user, address, outcome.seconds if isinstance(outcome, SignInThrottled) else None)
        return outcome

    async def tried(
        self, known_as: str, password: str, address: str
    ) -> BrowserSession | SignInRefused | SignInThrottled:
        of_name = self.seals.digest(OF_NAMES, known_as)
        of_address = self.seals.digest(OF_ADDRESSES, neighbourhood(address))
        until_at = await self.store.begin_login({of_name: USER, of_address: ADDRESS})
        if until_at is not None:
            left = until_at - await self.store.now()
            return SignInThrottled(max(1, math.ceil(left / timedelta(seconds=1))))
        user = await self.store.user_by_name(known_as)
        if not await self.passwords.verify(password, user.password if user else None) or user is None:
            return SignInRefused()
        await self.store.forgive_login(of_name, of_address)
        if user.password is not None and self.passwords.is_outdated(user.password):
            await self.store.update_password_hash(user.id, await self.passwords.hash(password))
        session, cookie = await self.fresh(user.id)
        return signed_in(await self.store.start_session(session, as_user(user)), user, cookie)

    async def fresh(self, user_id: UUID) -> tuple[Session, str]:
        secret = secrets.token_urlsafe(SECRET_BYTES)
        ends_at = await self.store.now() + LONGEST
        digest = self.seals.digest(OF_SESSIONS, secret)
        session = Session(id=new_id(), user_id=user_id, digest=digest, expires_at=ends_at)
        return session, joined(session.id, secret)

    async def session_of(self, cookie: str, *, noted: bool = True) -> BrowserSession | None:
        """Who has this cookie, unless it was too long ago. It is used by that, unless nobody is to note it."""
        parts = parted(cookie)
        found = None if parts is None else await self.store.session(parts[0])
        if parts is None or found is None:
            return None
        session, user, now = found
        seen_at = session.seen_at or now
        matches = self.seals.matches(OF_SESSIONS, parts[1], session.digest)
        if not matches or is_over(session.expires_at, now) or is_idle(seen_at, now):
            return None
        if noted and worth_noting(seen_at, now):
            await self.store.touch_session(session.id)
        return signed_in(session, user, cookie)

    async def logout(self, signed: BrowserSession) -> None:
        await self.store.end_session(signed.session_id, as_user(signed.user))

    async def make_link(self, user_id: UUID, act: Act) -> str:
        """What signs this user in, once, within minutes."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        digest, ends_at = self.seals.digest(OF_LINKS, secret), await self.store.now() + LINK
        link = Session(id=new_id(), user_id=user_id, digest=digest, expires_at=ends_at)
        await self.store.add_sign_in_link(link, act)
        return joined(link.id, secret)

    async def follow_link(self, token: str) -> BrowserSession | None:
        parts = parted(token)
        found = None if parts is None else await self.store.sign_in_link(parts[0])
        if parts is None or found is None:
            return None
        link, user, now = found
        if not self.seals.matches(OF_LINKS, parts[1], link.digest) or is_over(link.expires_at, now):
            return None
        session, cookie = await self.fresh(user.id)
        started = await self.store.use_sign_in_link(link.id, session, as_user(user))
        return None if started is None else signed_in(started, user, cookie)


def note_refusal(user: User | None, address: str, wait: int | None = None) -> None:
    """In the log, and not in the audit trail: that is for what was changed, and strangers would fill it.

    Of a name that nobody has, nothing is told: it may be a password.
    """
    log.warning("sign_in.refused", user=None if user is None else user.name, address=address, wait=wait)


async def make_sign_in_link(people: People, signing_in: SignInService, url: str, act: Act, name: str = OWNER) -> str:
    """An address that signs a browser in, once. The first time, the owner is made: without a password."""
    user = await people.store.user_by_name(name)
    if user is None:
        try:
            user = await people.add_user(name, Role.OWNER, act=act)
        except Conflict:  # by somebody else, just now
            user = await people.named(name)
    return f"{url.rstrip('/')}/sign-in?token={await signing_in.make_link(user.id, act)}"


def signed_in(session: Session, user: User, cookie: str) -> BrowserSession:
    idle_at = (session.seen_at or session.expires_at) + IDLE
    return BrowserSession(user, session.id, cookie, csrf_token(cookie), min(idle_at, session.expires_at))


def csrf_token(cookie: str) -> str:
    """Bound to the session, and no way back to its cookie; a page of another site can neither read nor guess it."""
    return hmac.new(cookie.encode(), b"postino csrf 1", hashlib.sha256).hexdigest()


def as_user(user: User) -> Act:
    return Act(f"user:{user.name}")


def joined(public: UUID, secret: str) -> str:
    return f"{public.hex}.{secret}"


def parted(text: str) -> tuple[UUID, str] | None:
    public, dot, secret = text.partition(".")
    if not dot or not secret or not text.isascii() or len(public) != 32:
        return None
    try:
        return UUID(public), secret
    except ValueError:
        return None


def neighbourhood(address: str) -> str:
    """An IPv6 host has more addresses than anybody can count: its network guesses as one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
