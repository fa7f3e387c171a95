"""Many who ask, few reads: whoever comes while one look is under way is answered by the next, never by an older one."""

from collections.abc import Sequence
from datetime import datetime

from postino.engine.batcher import Batcher
from postino.rules.gates import Known
from postino.stores.store import Store
from postino.values.gate import Gate
from postino.values.post import Answer, Asked, StoredAccount

MOST_TOGETHER = 500


class ReadBatcher:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.asking: Batcher[Asked, Answer | None] = Batcher(store.stored_responses, MOST_TOGETHER)
        self.naming: Batcher[Sequence[str], Sequence[StoredAccount]] = Batcher(self.accounts_of_all, MOST_TOGETHER)
        self.looking: Batcher[None, tuple[Known, Sequence[Gate], datetime]] = Batcher(self.gates_for_all, MOST_TOGETHER)

    async def stored_response(self, asked: Asked) -> Answer | None:
        """What was answered to this request before. Raises Conflict if its key was used for another one."""
        return await self.asking.put(asked)

    async def accounts_named(self, names: Sequence[str]) -> Sequence[StoredAccount]:
        return await self.naming.put(names)

    async def gates(self) -> tuple[Known, Sequence[Gate], datetime]:
        """What a claim must know, every gate there is, and when that was."""
        return await self.looking.put(None)

    async def accounts_of_all(self, wanted: list[Sequence[str]]) -> list[list[StoredAccount]]:
        names = dict.fromkeys(name for those in wanted for name in those)
        there = {account.id: account for account in await self.store.accounts_by_id([*names])}
        return [[there[name] for name in dict.fromkeys(those) if name in there] for those in wanted]

    async def gates_for_all(self, wanted: list[None]) -> list[tuple[Known, Sequence[Gate], datetime]]:
        known, now = await self.store.known_gates()
        return [(known, await self.store.gates(), now)] * len(wanted)
