"""What operators do during a life: gates, caps and accounts, through the services that the API calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from postino.errors import Conflict, NotFound, StoreUnreachable, WrongUse
from postino.publishing.blackouts import InBlackout
from postino.publishing.post_validation import InvalidPost
from postino.sandbox import accounts as sandbox_accounts
from postino.sandbox.networks import networks
from postino.stores.records import AuditContext
from postino.values.gate import GateKind, Scope
from postino.values.post import AccountState
from tests.simulator import site

if TYPE_CHECKING:
    from tests.simulator.life import Life

T = TypeVar("T")
CONTEXT = AuditContext("person", "felt like it")
TRIES = 20  # of a request whose response is lost
EXPECTED = (Conflict, NotFound, InBlackout, InvalidPost, StoreUnreachable, WrongUse)


class Operator:
    """Acts on the app of a server process, and remembers in the oracle what it was promised."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance  # of the act
        self.number = 0  # of the act
        self.app = life.server
        self.oracle = life.oracle
        self.busy = asyncio.Lock()

    async def act(self, name: str) -> None:
        """Do one thing. A refusal is an answer like any other."""
        method: Callable[[], Awaitable[None]] = getattr(self, name)
        try:
            async with self.busy:
                await method()
        except EXPECTED as error:
            self.life.tell(f"a person wanted to {name.replace('_', ' ')}: {type(error).__name__}: {error}")

    async def persist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something until it is answered, as a client does with an idempotency key."""
        for _ in range(TRIES):
            try:
                return await act()
            except StoreUnreachable:
                await self.life.sleep(0.3)
        return await act()

    # Gates

    def draw_gate(self) -> tuple[Scope, str]:
        return self.chance.choice((
            (Scope.ALL, ""), (Scope.BRAND, "rosso"), (Scope.CHANNEL, "telegram"),
            (Scope.ACCOUNT, self.chance.choice(self.life.accounts)),
        ))  # fmt: skip

    async def pause(self) -> None:
        scope, name = self.draw_gate()
        await self.app.gate_control.pause(scope, name, actor="person")
        self.oracle.held.setdefault((scope.value, name), self.life.database.latest)
        self.life.tell(f"an operator pauses {scope.value} {name}")

    async def resume(self) -> None:
        paused = [it for it in await self.app.store.gates() if it.kind is GateKind.PAUSE]
        if paused:
            gate = self.chance.choice(paused)
            self.oracle.held.pop((gate.scope.value, gate.name), None)
            await self.app.gate_control.resume(gate.scope, gate.name, actor="person")
            self.life.tell(f"an operator resumes {gate.scope.value} {gate.name}")

    async def add_blackout(self) -> None:
        fields = {"scope": "brand", "brand": "verde", "start": "00:00", "end": "00:00", "timezone": "UTC"}
        await self.app.gate_control.add_blackout(fields, actor="person")
        self.life.tell("an operator adds a blackout for the brand verde")

    async def remove_blackout(self) -> None:
        for blackout in await self.app.gate_control.blackouts():
            await self.app.gate_control.remove_blackout(blackout.id, actor="person")
            self.life.tell("an operator removes a blackout")

    async def set_cap(self) -> None:
        channel, cap = self.chance.choice(site.NETWORKS), self.chance.choice((0, 1, 2, 2, None))
        await self.app.cap(channel, cap, actor="person")
        self.life.tell(f"an operator sets the cap of {channel} to {cap}")

    async def pause_account(self) -> None:
        account = self.chance.choice(self.life.accounts)
        await self.app.accounts.pause(account, CONTEXT)
        self.oracle.held.setdefault((Scope.ACCOUNT.value, account), self.life.database.latest)
        self.life.tell(f"an operator pauses the account {account}")

    async def resume_account(self) -> None:
        for account in await self.app.store.accounts():
            if account.state in (AccountState.PAUSED, AccountState.SUSPENDED):
                self.oracle.held.pop((Scope.ACCOUNT.value, account.id), None)
                await self.app.accounts.resume(account.id, CONTEXT)
                self.app.wakeup.notify()
                self.life.tell(f"an operator resumes the account {account.id}")

    async def open_circuit(self) -> None:
        await self.app.gate_control.open_circuit("telegram", seconds=5.0, reason="maintenance", actor="person")
        self.life.tell("an operator opens the circuit of telegram")

    async def close_circuit(self) -> None:
        for breaker in await self.app.gate_control.circuits():
            await self.app.gate_control.close_circuit(breaker.service, reason="done", actor="person")

    async def open_everything(self) -> None:
        """Open all gates, and answer all questions."""
        await self.life.platform.answer_restored()
        self.oracle.held.clear()
        for act in ("remove_blackout", "resume_account", "close_circuit", "reconnect_expired", "resolve", "cancel_far"):
            await self.act(act)
        for channel, cap in (await self.app.store.gate_sources())[0].caps.items():
            if cap == 0:
                await self.app.cap(channel, None, actor="person")
        for gate in await self.app.store.gates():
            if gate.kind is GateKind.PAUSE:
                self.oracle.held.pop((gate.scope.value, gate.name), None)
                await self.app.gate_control.resume(gate.scope, gate.name, actor="person")
            elif gate.kind is GateKind.COOLDOWN:
                with suppress(NotFound):  # it has just ended
                    await self.app.gate_control.end_cooldown(gate.scope, gate.name, actor="person")

    # Accounts

    async def reconnect(self) -> None:
        """Give an account new credentials, as after they expired."""
        account = self.chance.choice(sorted(self.life.expired) or self.life.accounts)
        await self.connect(account, self.find_place(account))

    async def reconnect_expired(self) -> None:
        for account in await self.app.store.accounts():
            if account.state is AccountState.TOKEN_EXPIRED:
                await self.connect(account.id, self.find_place(account.id))

    async def reconnect_elsewhere(self) -> None:
        """Let an account publish to another chat from now on."""
        account = self.chance.choice([it for it in self.life.accounts if it.startswith("telegram:")])
        _, _, handle = account.partition(":")
        place = f"{handle}{self.life.next_number()}"
        sandbox_accounts.open_account(self.life.sandbox.connection, networks()["telegram"], place)
        self.oracle.places[f"telegram:{place}"] = account
        await self.connect(account, place)

    async def move_brand(self) -> None:
        account, brand = self.chance.choice(self.life.accounts), self.chance.choice(site.BRANDS)
        await self.connect(account, self.find_place(account), brand)

    async def connect(self, account: str, place: str, brand: str | None = None) -> None:
        network, _, handle = account.partition(":")
        connection = self.life.sandbox.connection
        found = sandbox_accounts.find_account(connection, network, place)
        assert found is not None
        self.life.tell(f"an operator reconnects {account} to {place}" + (f" for the brand {brand}" if brand else ""))
        sandbox_accounts.set_expired(connection, found, "access", False)
        await self.app.accounts.add(
            network, handle, found.credentials, brand=brand, remote_id=found.remote_id, act=CONTEXT
        )
        self.life.connected_to[account] = place
        self.life.expired.discard(account)
        if network != "bluesky":  # whose sessions end by themselves
            self.life.reconnected.add(account)
        self.app.wakeup.notify()

    def find_place(self, account: str) -> str:
        """Return the account on the network, to which a person has connected it."""
        return self.life.connected_to.get(account, account.partition(":")[2])
