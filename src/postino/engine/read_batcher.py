"""Reads for many requests at once: requests that arrive during one read share the next, never an older one."""

from collections.abc import Sequence
from datetime import datetime

from postino.engine.batcher import Batcher
from postino.rules.gates import GateSources
from postino.stores.store import Store
from postino.values.gate import Gate
from postino.values.post import IdempotentRequest, StoredAccount, StoredResponse

MAX_BATCH = 500
GateSnapshot = tuple[GateSources, Sequence[Gate], datetime]


class ReadBatcher:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.responses: Batcher[IdempotentRequest, StoredResponse | None] = Batcher(store.stored_responses, MAX_BATCH)
        self.accounts: Batcher[Sequence[str], Sequence[StoredAccount]] = Batcher(self.read_accounts, MAX_BATCH)
        self.snapshots: Batcher[None, GateSnapshot] = Batcher(self.read_gates, MAX_BATCH)

    async def stored_response(self, request: IdempotentRequest) -> StoredResponse | None:
        """Return the response to an earlier request with this idempotency key.

        Raises Conflict if the key was used for a different request.
        """
        return await self.responses.put(request)

    async def get_accounts(self, names: Sequence[str]) -> Sequence[StoredAccount]:
        """Return the accounts with these ids; unknown ids are left out."""
        return await self.accounts.put(names)

    async def gates(self) -> GateSnapshot:
        """Return what closes gates, every stored gate, and the time of the read."""
        return await self.snapshots.put(None)

    async def read_accounts(self, requests: list[Sequence[str]]) -> list[list[StoredAccount]]:
        names = dict.fromkeys(name for request in requests for name in request)
        accounts = {account.id: account for account in await self.store.accounts_by_id([*names])}
        return [[accounts[name] for name in dict.fromkeys(request) if name in accounts] for request in requests]

    async def read_gates(self, requests: list[None]) -> list[GateSnapshot]:
        known, now = await self.store.gate_sources()
        return [(known, await self.store.gates(), now)] * len(requests)
