"""The desk for people who open and close gates: what they ask for is checked, with its field named, then stored."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from postino.engine.actions import make_audit_context, parse_gate
from postino.engine.checks import check_name, check_time, suggest, wrong_value
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.blackout import Blackout, describe_blackout, parse_blackout
from postino.rules.blackout_impact import DelayedJob, compute_impact
from postino.rules.circuit_breaker import MAX_SECONDS, Breaker, BreakerPolicy, get_state, parse_policy
from postino.rules.gates import ClosedGates, compute_closed_gates
from postino.rules.local_time import format_time
from postino.stores.records import AuditContext, JobFilter, QueueDepth, WorkerInfo
from postino.stores.store import Store
from postino.values.gate import Gate, Scope
from postino.values.job import Queue, State, new_id
from postino.values.networks import PLANNED_NETWORKS

T = TypeVar("T")
OPENAI = "openai"
COOLDOWN_SCOPES = (Scope.ACCOUNT, Scope.CHANNEL)
PAGE, MOST_LOOKED_AT, MOST_SHIFTS = 1000, 10_000, 100


@dataclass(frozen=True, slots=True)
class BlackoutPreview:
    """What a blackout would move, the soonest first; how many `more` there are, and whether not all were looked at."""

    first: tuple[DelayedJob, ...] = ()
    more: int = 0
    unlooked: bool = False


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many jobs of a channel and queue are in which state, and since when the oldest one waits."""

    channel: str
    queue: Queue
    pending: int = 0
    running: int = 0
    uncertain: int = 0
    oldest_run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """How much waits where, what is closed or capped now, and who works."""

    lines: Sequence[QueueCounts]
    closed: ClosedGates
    workers: Sequence[WorkerInfo]


def default_breaker_policy(service: str) -> BreakerPolicy:
    return parse_policy(service, None)


class GateControl:
    def __init__(
        self,
        store: Store,
        wake: Callable[[], None],
        policy: Callable[[str], BreakerPolicy] = default_breaker_policy,
        services: Collection[str] = (),
    ) -> None:
        self.store = store
        self.wake = wake
        self.policy = policy
        self.services = {*PLANNED_NETWORKS, *services}  # that there are, whether they were ever used or not

    async def queues(self) -> QueueOverview:
        known, now = await self.store.known_gates()
        known = replace(known, gates=tuple(await self.store.gates()))
        return QueueOverview(
            to_queue_counts(await self.store.queue_depths()),
            compute_closed_gates(known, now),
            await self.store.workers(),
        )

    async def pause(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        return await self.changed(self.store.pause(*parse_place(scope, name), make_audit_context(actor, reason)))

    async def resume(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        try:
            return await self.changed(self.store.resume(*parse_place(scope, name), make_audit_context(actor, reason)))
        except NotFound:
            if scope is not Scope.ALL:
                raise
            raise NotFound("Not everything is paused. `postino queues list` shows what is.") from None

    async def end_cooldown(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """Ends a cool-down before its time."""
        if scope not in COOLDOWN_SCOPES:
            raise WrongUse(f"scope: only an account or a channel cools down, not {scope.value!r}.", field="scope")
        return await self.changed(
            self.store.end_cooldown(scope, check_name(name, scope.value), make_audit_context(actor, reason))
        )

    async def circuits(self) -> list[Breaker]:
        """Of every service that was ever in trouble, or opened by hand, as it is now."""
        _, now = await self.store.known_gates()
        return [replace(breaker, state=get_state(breaker, now)) for breaker in await self.store.circuits()]

    async def open_circuit(
        self,
        service: str,
        *,
        until_at: datetime | None = None,
        seconds: float | None = None,
        reason: str,
        actor: str = "app",
    ) -> Breaker:
        """Nobody asks the service from now on: until then, for so long or, with neither, until it is closed by hand."""
        done = require_reason(actor, reason)
        _, now = await self.store.known_gates()
        ends_at = choose_end(until_at, seconds, now)
        services = {*self.services, OPENAI, *(breaker.service for breaker in await self.store.circuits())}
        await self.check_known("service", service, services, JobFilter(channel=service, limit=1))
        probes = self.policy(service).half_open_max_attempts
        return await self.changed(self.store.open_circuit(service, ends_at, probes, done))

    async def close_circuit(self, service: str, *, reason: str, actor: str = "app") -> Breaker:
        """It is asked again at once, as if it were well; what made it fail before is forgotten."""
        done = require_reason(actor, reason)
        await self.check_circuit(service)
        return await self.changed(self.store.close_circuit(service, done))

    async def reset_circuit(self, service: str, *, reason: str, actor: str = "app") -> Breaker:
        """As if it had never been in trouble."""
        done = require_reason(actor, reason)
        await self.check_circuit(service)
        return await self.changed(self.store.reset_circuit(service, done))

    async def blackouts(self) -> list[Blackout]:
        return [*await self.store.blackouts()]

    async def draft_blackout(self, told: Mapping[str, Any]) -> Blackout:
        """The blackout that is meant, checked and not saved."""
        blackout = parse_blackout(told, new_id())
        name = blackout.name
        if blackout.scope is Scope.CHANNEL:
            await self.check_channel(name)
        if blackout.scope is Scope.ACCOUNT:
            known = {account.id for account in await self.store.accounts()}
            await self.check_known("account", name, known, JobFilter(account=name, limit=1))
        for other in await self.store.blackouts():
            if replace(other, id=blackout.id, reason=blackout.reason) == blackout:
                raise Conflict(
                    f"There is that blackout already: {describe_blackout(other)} ({other.id}). Nothing was saved."
                )
        return blackout

    async def add_blackout(self, told: Mapping[str, Any], *, reason: str = "", actor: str = "app") -> Blackout:
        return await self.save_blackout(await self.draft_blackout(told), reason=reason, actor=actor)

    async def save_blackout(self, blackout: Blackout, *, reason: str = "", actor: str = "app") -> Blackout:
        """Saves a draft: from now on nothing of its scope starts in its windows."""
        return await self.changed(
            self.store.add_blackout(blackout, make_audit_context(actor, reason or blackout.reason or ""))
        )

    async def remove_blackout(self, blackout_id: UUID, *, reason: str = "", actor: str = "app") -> Blackout:
        return await self.changed(self.store.remove_blackout(blackout_id, make_audit_context(actor, reason)))

    async def preview_blackout(self, blackout: Blackout) -> BlackoutPreview:
        """What would go out later than it does now, and when; of the newest jobs, where there are very many."""
        known, now = await self.store.known_gates()
        wanted = make_pending_filter(blackout)
        others = [other for other in known.blackouts if other.id != blackout.id]
        found: list[DelayedJob] = []
        looked_at = 0
        while page := await self.store.jobs(wanted):
            found += [shift for job in page if (shift := compute_impact(job, others, blackout, now)) is not None]
            looked_at += len(page)
            if len(page) < PAGE or looked_at >= MOST_LOOKED_AT:
                break
            wanted = replace(wanted, before=page[-1].id)
        found.sort(key=lambda shift: (shift.goes_at, shift.job_id))
        unlooked = looked_at >= MOST_LOOKED_AT
        return BlackoutPreview(tuple(found[:MOST_SHIFTS]), max(0, len(found) - MOST_SHIFTS), unlooked)

    async def check_channel(self, name: str, settled: Collection[str] = ()) -> None:
        """One that is a network, is in the settings, has a cap or a gate, or ever had a job."""
        known, _ = await self.store.known_gates()
        gated = {gate.name for gate in await self.store.gates() if gate.scope is Scope.CHANNEL}
        channels = {*self.services, *settled, *known.caps, *gated}
        await self.check_known("channel", name, channels, JobFilter(channel=name, limit=1))

    async def check_known(self, field: str, name: str, known: Collection[str], ever: JobFilter) -> None:
        """Refuses a name that nothing has and no job ever had: it would be a gate in front of nothing."""
        if check_name(name, field) in known or await self.store.jobs(ever):
            return
        if field != "account":
            known = {*known, *(depth.channel for depth in await self.store.queue_depths())}
        hint = suggest(name, sorted(known)) if known else " There are none yet."
        raise WrongUse(f"{field}: there is no {field} {name!r:.200}.{hint} Nothing was changed.", field=field)

    async def check_circuit(self, service: str) -> None:
        known = [breaker.service for breaker in await self.store.circuits()]
        if check_name(service, "service") not in known:
            hint = suggest(service, known) if known else " None ever was."
            raise NotFound(f"The service {service!r:.200} has never been in trouble, nor opened by hand.{hint}")

    async def changed(self, deed: Awaitable[T]) -> T:
        result = await deed
        self.wake()
        return result


def to_queue_counts(depths: Sequence[QueueDepth]) -> list[QueueCounts]:
    lines: dict[tuple[str, Queue], dict[str, Any]] = defaultdict(dict)
    for depth in depths:
        line = lines[depth.channel, depth.queue]
        line[depth.state.value] = depth.jobs
        if depth.state is State.PENDING:
            line["oldest_run_at"] = depth.oldest_run_at
    return [QueueCounts(channel, queue, **counts) for (channel, queue), counts in lines.items()]


def make_pending_filter(blackout: Blackout) -> JobFilter:
    """The jobs that wait and may be concerned."""
    its = {scope: blackout.name if scope is blackout.scope else None for scope in Scope}
    return JobFilter(
        states=(State.PENDING,),
        channel=its[Scope.CHANNEL],
        account=its[Scope.ACCOUNT],
        brand=its[Scope.BRAND],
        limit=PAGE,
    )


def parse_place(scope: Scope, name: str) -> tuple[Scope, str]:
    return (Scope.ALL, "") if scope is Scope.ALL else parse_gate(scope, name)


def require_reason(actor: str, reason: str) -> AuditContext:
    done = make_audit_context(actor, reason)
    if not reason.strip():
        raise WrongUse("reason: say why; it stays in the audit trail. Nothing was changed.", field="reason")
    return done


def choose_end(until_at: datetime | None, seconds: float | None, now: datetime) -> datetime | None:
    if until_at is not None and seconds is not None:
        raise WrongUse("seconds: give either until when or for how long, not both.", field="seconds")
    if seconds is not None:
        if isinstance(seconds, bool) or not 0 < seconds <= MAX_SECONDS:
            raise wrong_value("seconds", seconds, f"a number of seconds greater than 0, at most {MAX_SECONDS:.0f}")
        return now + timedelta(seconds=seconds)
    ends_at = check_time("until", until_at)
    if ends_at is not None and ends_at <= now:
        raise WrongUse(f"until: {format_time(ends_at)} has passed. Nothing was changed.", field="until")
    return ends_at
