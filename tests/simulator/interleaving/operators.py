"""What operators do: gates, caps, circuits, settings and pruning."""

from __future__ import annotations

from datetime import time, timedelta
from typing import TYPE_CHECKING

from postino.config import RetentionConfig
from postino.rules.blackout import Blackout
from postino.rules.circuit_breaker import BreakerPolicy
from postino.rules.stored_settings import render_settings
from postino.stores.operations import blackouts, circuits, gates, maintenance, settings
from postino.stores.records import AuditContext
from postino.values.gate import Scope
from tests.simulator.interleaving.actor import Act, Actor
from tests.simulator.interleaving.names import BRAND, BULK_CHANNEL, CHANNEL, GATES, SERVICES

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

AUDIT = AuditContext("operator", "had a reason")
BREAKER = BreakerPolicy(failure_threshold=2, open_timeout=timedelta(seconds=10))
RETENTION = RetentionConfig(finished_days=180, event_days=180)


class Operators:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance
        self.made = 0

    def next_number(self) -> int:
        self.made += 1
        return self.made

    def name(self) -> str:
        return f"operator {self.next_number()}"

    def choose_channel(self) -> str:
        """Return the channel of most jobs of this life, or the other one."""
        return BULK_CHANNEL if self.chance.random() < max(self.life.swarm.bulk, 0.1) else CHANNEL

    async def begin(self) -> None:
        if self.chance.random() < 0.5 and self.life.swarm.bulk < 1:
            await self.life.run(self.make_cap(self.choose_channel(), self.chance.choice((1, 2, 2))))

    def pause(self) -> Act:
        scope, name = self.chance.choice(GATES[:3] if self.chance.random() < 0.8 else GATES)
        if self.chance.random() < self.life.swarm.bulk:
            scope, name = self.chance.choice((*GATES[4:], GATES[-1], GATES[-1]))

        def note(_: Actor, __: object) -> None:
            self.life.oracle.closed.setdefault((scope, name), self.life.steps)

        return Act(
            who=self.name(), what=f"pauses {scope} {name}".strip(), begin=lambda: gates.pause_scope(scope, name, AUDIT),
            committed=note,
        )  # fmt: skip

    def resume(self) -> Act | None:
        closed = list(self.life.oracle.closed)
        if not closed:
            return None
        scope, name = self.chance.choice(closed)

        def note(_: Actor, __: object) -> None:
            self.life.oracle.closed.pop((scope, name), None)

        return Act(
            who=self.name(), what=f"resumes {scope} {name}".strip(),
            begin=lambda: gates.resume_scope(scope, name, AUDIT), committed=note,
        )  # fmt: skip

    def cool_down(self) -> Act:
        scope, name = self.chance.choice(((Scope.ACCOUNT, "anna"), (Scope.ACCOUNT, "bruno"), (Scope.CHANNEL, CHANNEL)))
        until = self.life.now + timedelta(seconds=self.chance.choice((2, 20)))
        return Act(
            who=self.name(),
            what=f"cools {scope} {name} down",
            begin=lambda: gates.start_cooldown(scope, name, until, "slow"),
        )

    def end_cooldown(self) -> Act:
        name = self.chance.choice(("anna", "bruno"))
        return Act(
            who=self.name(), what=f"ends the cooldown of {name}",
            begin=lambda: gates.end_cooldown(Scope.ACCOUNT, name, AUDIT),
        )  # fmt: skip

    def blackout(self) -> Act:
        window = Blackout(
            id=self.life.make_id(), scope=Scope.BRAND, name=BRAND, start=time(0), end=time(0), timezone="UTC"
        )

        def note(_: Actor, __: object) -> None:
            self.life.oracle.blackouts[window.id] = self.life.steps

        return Act(
            who=self.name(), what="adds a blackout", begin=lambda: blackouts.add_blackout(window, AUDIT), committed=note
        )

    def lift_blackout(self) -> Act | None:
        known = list(self.life.oracle.blackouts)
        if not known:
            return None
        blackout = self.chance.choice(known)

        def note(_: Actor, __: object) -> None:
            self.life.oracle.blackouts.pop(blackout, None)

        return Act(
            who=self.name(), what="removes a blackout", begin=lambda: blackouts.remove_blackout(blackout, AUDIT),
            committed=note,
        )  # fmt: skip

    def set_cap(self) -> Act:
        is_bulk = self.life.swarm.bulk == 1  # there, what was polled without a cap is claimed under one
        caps = (1, 1, None, None, None) if is_bulk else (1, 2, 3, None)
        return self.make_cap(self.choose_channel(), self.chance.choice(caps))

    def make_cap(self, channel: str, cap: int | None) -> Act:
        def note(_: Actor, holds: int | None) -> None:
            self.life.oracle.capped(channel, holds)

        return Act(
            who=self.name(), what=f"caps {channel} at {cap}", begin=lambda: gates.set_cap(channel, cap, AUDIT),
            committed=note,
        )  # fmt: skip

    def write_settings(self) -> Act:
        """Apply a document of settings, whose blackout is over already or lasts all day."""
        end = self.chance.choice((time(9), time(0)))
        start = time(8) if end == time(9) else end
        window = Blackout(
            id=self.life.make_id(), scope=Scope.ACCOUNT, name="anna", start=start, end=end, timezone="UTC"
        )
        document = render_settings({}, [window] if self.chance.random() < 0.6 else [])
        return Act(
            who=self.name(), what="writes settings", begin=lambda: settings.write_settings(document, "an operator")
        )

    def fail_call(self) -> Act:
        service, healthy = self.chance.choice((*SERVICES, CHANNEL)), self.chance.random() < 0.3
        return Act(
            who=f"response {self.next_number()}", what=f"{'answers' if healthy else 'fails'} for {service}",
            begin=lambda: circuits.record_response(service, healthy, BREAKER, "down"),
        )  # fmt: skip

    def open_circuit(self) -> Act:
        service = self.chance.choice((*SERVICES, CHANNEL))
        until = self.life.now + timedelta(seconds=self.chance.choice((1, 30)))
        return Act(
            who=self.name(), what=f"opens the circuit of {service}",
            begin=lambda: circuits.open_circuit(service, until, 1, AUDIT),
        )  # fmt: skip

    def close_circuit(self) -> Act:
        service = self.chance.choice((*SERVICES, CHANNEL))
        return Act(
            who=self.name(), what=f"closes the circuit of {service}",
            begin=lambda: circuits.close_circuit(service, AUDIT),
        )  # fmt: skip

    def prune(self) -> Act:
        return Act(who=self.name(), what="prunes", begin=lambda: maintenance.prune(RETENTION))
