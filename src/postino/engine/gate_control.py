"""Gates that people open and close: pauses, cooldowns, circuits, blackouts. Arguments are checked before anything
is stored, and workers are woken after every change."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from postino.engine.actions import make_audit_context, parse_gate
from postino.engine.checks import check_name, check_time, make_wrong_value_error
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.blackout import Blackout, describe_blackout, parse_blackout
from postino.rules.blackout_impact import DelayedJob, compute_impact
from postino.rules.circuit_breaker import MAX_SECONDS, Breaker, BreakerPolicy, get_call_limit, get_state, parse_policy
from postino.rules.gates import ClosedGates, compute_closed_gates
from postino.rules.local_time import format_time
from postino.stores.operations.pagination import MAX_PAGE_BYTES
from postino.stores.records import AuditContext, JobFilter, QueueDepth, WorkerInfo
from postino.stores.store import Store
from postino.values.gate import Gate, Scope
from postino.values.job import Queue, State, new_id
from postino.values.networks import PLANNED_NETWORKS
from postino.values.suggestions import suggest_name

T = TypeVar("T")
OPENAI = "openai"
COOLDOWN_SCOPES = (Scope.ACCOUNT, Scope.CHANNEL)
PAGE, MAX_EXAMINED, MAX_SHIFTS = 1000, 10_000, 100  # jobs of a blackout preview: per query, examined, returned


@dataclass(frozen=True, slots=True)
class BlackoutPreview:
    """The jobs that a blackout would delay, the soonest first.

    `more` counts those left out of `first`; `complete` is False if there were too many jobs to examine all.
    """

    first: tuple[DelayedJob, ...] = ()
    more: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The jobs of one channel and queue by state, and when the oldest pending one was due."""

    channel: str
    queue: Queue
    pending: int = 0
    running: int = 0
    uncertain: int = 0
    oldest_run_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """All queues with their counts, closed gates, caps and workers."""

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
        self.services = {*PLANNED_NETWORKS, *services}  # known names, whether ever used or not

    async def queues(self) -> QueueOverview:
        """Return the counts of all queues, every closed gate, and the workers."""
        known, now = await self.store.gate_sources()
        open_services = [it for it in await self.store.service_circuits() if get_call_limit(it, now) == 0]
        breakers = (*known.breakers, *open_services)
        known = replace(known, gates=tuple(await self.store.gates()), breakers=breakers)
        return QueueOverview(
            to_queue_counts(await self.store.queue_depths()),
            compute_closed_gates(known, now),
            await self.store.workers(),
        )

    async def pause(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """Close a gate until `resume` opens it: running jobs end, and no other starts."""
        return await self.wake_after(self.store.pause(*parse_gate(scope, name), make_audit_context(actor, reason)))

    async def resume(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """Open a gate that `pause` closed. Raises NotFound if it is not paused."""
        try:
            return await self.wake_after(self.store.resume(*parse_gate(scope, name), make_audit_context(actor, reason)))
        except NotFound:
            if scope is not Scope.ALL:
                raise
            raise NotFound("The whole queue is not paused. Run `postino queues list` to see what is.") from None

    async def end_cooldown(self, scope: Scope, name: str, *, reason: str = "", actor: str = "app") -> Gate:
        """End a cooldown before its time."""
        if scope not in COOLDOWN_SCOPES:
            raise WrongUse(f"scope: only an account or a channel cools down, not {scope.value!r}.", field="scope")
        return await self.wake_after(
            self.store.end_cooldown(scope, check_name(name, scope.value), make_audit_context(actor, reason))
        )

    async def circuits(self) -> list[Breaker]:
        """Return the circuit of every service that ever failed or was opened by hand, with its present state."""
        _, now = await self.store.gate_sources()
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
        """Stop all calls to a service until a time, for some seconds or, with neither, until it is closed by hand.

        The name of a network stops the calls to all its servers.
        """
        context = require_reason(actor, reason)
        _, now = await self.store.gate_sources()
        ends_at = choose_end(until_at, seconds, now)
        if not await self.store.has_service(check_name(service, "service")):
            services = {*self.services, OPENAI, *(breaker.service for breaker in await self.store.circuits())}
            await self.check_known("service", service, services, JobFilter(channel=service, limit=1))
        probes = self.policy(service).half_open_max_attempts
        return await self.wake_after(self.store.open_circuit(service, ends_at, probes, context))

    async def close_circuit(self, service: str, *, reason: str, actor: str = "app") -> Breaker:
        """Allow calls to a service at once, and forget its failures."""
        context = require_reason(actor, reason)
        await self.check_circuit(service)
        return await self.wake_after(self.store.close_circuit(service, context))

    async def reset_circuit(self, service: str, *, reason: str, actor: str = "app") -> Breaker:
        """Delete the circuit of a service, as if it had never failed."""
        context = require_reason(actor, reason)
        await self.check_circuit(service)
        return await self.wake_after(self.store.reset_circuit(service, context))

    async def blackouts(self) -> list[Blackout]:
        return [*await self.store.blackouts()]

    async def draft_blackout(self, fields: Mapping[str, Any]) -> Blackout:
        """Check the fields of a blackout and return it unsaved. Raises Conflict if there is the same one already."""
        blackout = parse_blackout(fields, new_id())
        name = blackout.name
        if blackout.scope is Scope.CHANNEL:
            await self.check_channel(name)
        if blackout.scope is Scope.ACCOUNT:
            known = {account.id for account in await self.store.accounts()}
            await self.check_known("account", name, known, JobFilter(account=name, limit=1))
        for other in await self.store.blackouts():
            if replace(other, id=blackout.id, reason=blackout.reason) == blackout:
                raise Conflict(
                    f"This blackout exists already: {describe_blackout(other)} ({other.id}). Nothing was saved."
                )
        return blackout

    async def add_blackout(self, fields: Mapping[str, Any], *, reason: str = "", actor: str = "app") -> Blackout:
        """Check and save a blackout."""
        return await self.save_blackout(await self.draft_blackout(fields), reason=reason, actor=actor)

    async def save_blackout(self, blackout: Blackout, *, reason: str = "", actor: str = "app") -> Blackout:
        """Save a draft. From now on no job in its scope starts in its windows."""
        return await self.wake_after(
            self.store.add_blackout(blackout, make_audit_context(actor, reason or blackout.reason or ""))
        )

    async def remove_blackout(self, blackout_id: UUID, *, reason: str = "", actor: str = "app") -> Blackout:
        return await self.wake_after(self.store.remove_blackout(blackout_id, make_audit_context(actor, reason)))

    async def preview_blackout(self, blackout: Blackout) -> BlackoutPreview:
        """Return the jobs that this blackout would delay. At most the 10,000 newest pending jobs are examined."""
        known, now = await self.store.gate_sources()
        filter_ = make_pending_filter(blackout)
        others = [other for other in known.blackouts if other.id != blackout.id]
        shifts: list[DelayedJob] = []
        examined = 0
        while examined < MAX_EXAMINED and (page := await self.store.jobs(filter_)):
            shifts += [shift for job in page if (shift := compute_impact(job, others, blackout, now)) is not None]
            examined += len(page)
            filter_ = replace(filter_, before=page[-1].id)
        shifts.sort(key=lambda shift: (shift.goes_at, shift.job_id))
        more = max(0, len(shifts) - MAX_SHIFTS)
        return BlackoutPreview(tuple(shifts[:MAX_SHIFTS]), more, examined < MAX_EXAMINED)

    async def check_channel(
        self, name: str, settled: Collection[str] = (), brands: tuple[str, ...] | None = None
    ) -> None:
        """Raise WrongUse unless a channel is a network, is in the settings, has a cap or a gate, or ever had a job.

        With `brands`, only networks and channels that had a job of these brands exist.
        """
        if brands is not None:
            await self.check_known("channel", name, self.services, JobFilter(channel=name, brands=brands, limit=1))
            return
        known, _ = await self.store.gate_sources()
        gated = {gate.name for gate in await self.store.gates() if gate.scope is Scope.CHANNEL}
        channels = {*self.services, *settled, *known.caps, *gated}
        await self.check_known("channel", name, channels, JobFilter(channel=name, limit=1))

    async def check_known(self, field: str, name: str, known: Collection[str], ever: JobFilter) -> None:
        """Raise WrongUse for a name that is not known and that no job ever had: such a gate would have no effect."""
        if check_name(name, field) in known or await self.store.jobs(ever):
            return
        if field != "account" and ever.brands is None:
            known = {*known, *(depth.channel for depth in await self.store.queue_depths())}
        hint = suggest_name(name, sorted(known)) if known else "There are none yet."
        raise WrongUse(f"{field}: there is no {field} {name!r:.200}. {hint} Nothing was changed.", field=field)

    async def check_circuit(self, service: str) -> None:
        known = [breaker.service for breaker in await self.store.circuits()]
        if check_name(service, "service") not in known:
            hint = suggest_name(service, known) if known else "There are no circuits yet."
            raise NotFound(f"The service {service!r:.200} has no circuit: it never failed and was never opened. {hint}")

    async def wake_after(self, action: Awaitable[T]) -> T:
        """Take an action, wake all workers, and return the action's result."""
        result = await action
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
    """Return a filter for the pending jobs in a blackout's scope."""
    pending = JobFilter(states=(State.PENDING,), limit=PAGE, max_bytes=MAX_PAGE_BYTES)
    match blackout.scope:
        case Scope.CHANNEL:
            return replace(pending, channel=blackout.name)
        case Scope.ACCOUNT:
            return replace(pending, account=blackout.name)
        case Scope.BRAND:
            return replace(pending, brands=(blackout.name,))
        case _:
            return pending


def require_reason(actor: str, reason: str) -> AuditContext:
    context = make_audit_context(actor, reason)
    if not reason.strip():
        raise WrongUse("reason: give a reason for the audit trail. Nothing was changed.", field="reason")
    return context


def choose_end(until_at: datetime | None, seconds: float | None, now: datetime) -> datetime | None:
    if until_at is not None and seconds is not None:
        raise WrongUse("seconds: give either `until` or `seconds`, not both.", field="seconds")
    if seconds is not None:
        if isinstance(seconds, bool) or not 0 < seconds <= MAX_SECONDS:
            raise make_wrong_value_error(
                "seconds", seconds, f"a number of seconds greater than 0, at most {MAX_SECONDS:.0f}"
            )
        return now + timedelta(seconds=seconds)
    ends_at = check_time("until", until_at)
    if ends_at is not None and ends_at <= now:
        raise WrongUse(f"until: {format_time(ends_at)} is in the past. Nothing was changed.", field="until")
    return ends_at
