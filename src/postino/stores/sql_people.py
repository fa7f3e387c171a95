"""The part of the store that is about people and programs: operations on a driver."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from postino.people import ApiKey, Session, User
from postino.rules.throttling import Patience
from postino.store import Act, AuditEntry
from postino.stores.driver import Driver
from postino.stores.operations import people


class SqlPeople:
    driver: Driver

    async def add_api_key(self, key: ApiKey, act: Act) -> ApiKey:
        return await self.driver.transact(people.add_api_key(key, act))

    async def remove_api_key(self, key_id: UUID, act: Act) -> ApiKey:
        return await self.driver.transact(people.remove_api_key(key_id, act))

    async def api_keys(self, after: UUID | None, limit: int) -> Sequence[ApiKey]:
        return await self.driver.read(people.api_keys(after, limit))

    async def api_keys_like(self, prefix: str) -> tuple[Sequence[ApiKey], datetime]:
        return await self.driver.read(people.api_keys_like(prefix))

    async def use_api_key(self, key_id: UUID) -> None:
        await self.driver.perform(people.use_api_key(key_id))

    async def add_user(self, user: User, act: Act) -> User:
        return await self.driver.transact(people.add_user(user, act))

    async def change_user(self, user: User, changed: Sequence[str], act: Act) -> User:
        return await self.driver.transact(people.change_user(user, changed, act))

    async def remove_user(self, user_id: UUID, act: Act) -> User:
        return await self.driver.transact(people.remove_user(user_id, act))

    async def renew_password(self, user_id: UUID, password: str) -> None:
        await self.driver.perform(people.renew_password(user_id, password))

    async def user(self, user_id: UUID) -> User:
        return await self.driver.read(people.user(user_id))

    async def user_named(self, name: str) -> User | None:
        return await self.driver.read(people.user_named(name))

    async def users(self, after: UUID | None, limit: int) -> Sequence[User]:
        return await self.driver.read(people.users(after, limit))

    async def begin_login(self, tries: Mapping[str, Patience]) -> datetime | None:
        return await self.driver.transact(people.begin_login(tries))

    async def forgive_login(self, forgotten: str, one_less: str) -> None:
        await self.driver.transact(people.forgive_login(forgotten, one_less))

    async def start_session(self, session: Session, act: Act) -> Session:
        return await self.driver.transact(people.start_session(session, act))

    async def session(self, session_id: UUID) -> tuple[Session, User, datetime] | None:
        return await self.driver.read(people.session(session_id))

    async def see_session(self, session_id: UUID) -> None:
        await self.driver.perform(people.see_session(session_id))

    async def end_session(self, session_id: UUID, act: Act) -> bool:
        return await self.driver.transact(people.end_session(session_id, act))

    async def add_sign_in(self, link: Session, act: Act) -> None:
        await self.driver.transact(people.add_sign_in(link, act))

    async def sign_in(self, link_id: UUID) -> tuple[Session, User, datetime] | None:
        return await self.driver.read(people.sign_in(link_id))

    async def take_sign_in(self, link_id: UUID, session: Session, act: Act) -> Session | None:
        return await self.driver.transact(people.take_sign_in(link_id, session, act))

    async def audit_page(self, before: int | None, limit: int) -> Sequence[AuditEntry]:
        return await self.driver.read(people.audit_page(before, limit))

    async def audit_after(self, seq: int, limit: int) -> Sequence[AuditEntry]:
        return await self.driver.read(people.audit_after(seq, limit))

    async def now(self) -> datetime:
        return await self.driver.read(people.now())
