"""The part of the store that is about imports: operations on a driver."""

from collections.abc import Sequence
from uuid import UUID

from postino.importing import Import, NewRow
from postino.stores.driver import Driver
from postino.stores.operations import imports


class SqlImports:
    driver: Driver

    async def put_import(self, new: Import) -> Import:
        return await self.driver.transact(imports.put(new))

    async def import_of(self, import_id: UUID) -> Import:
        return await self.driver.read(imports.get(import_id))

    async def import_by_token(self, caller: str, token: str) -> Import | None:
        return await self.driver.read(imports.by_token(caller, token))

    async def save_rows(self, known: Import, upto: int, faults: str, rows: Sequence[NewRow]) -> bool:
        return await self.driver.transact(imports.save(known, upto, faults, rows))

    async def finish_import(self, import_id: UUID, faults: str) -> Import:
        return await self.driver.transact(imports.finish(import_id, faults))
