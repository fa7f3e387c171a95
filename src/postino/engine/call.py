"""What a handler may do besides its own work: steps that are remembered, one visible call at a time, further jobs."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from postino.engine.circuits import CircuitMonitor
from postino.engine.guarded_http import GuardedHttp
from postino.engine.job_spec import JobSpec
from postino.engine.ledger import JobLedger, StopRun
from postino.engine.quota_meter import QuotaMeter
from postino.rules.failures import refuses
from postino.rules.gates import told_of_gate
from postino.rules.ledger import (
    Accepted,
    AskPerson,
    Clear,
    InDoubt,
    LookAgain,
    SendAgain,
    after_look,
    fate,
    outcome_of,
    without_look,
)
from postino.stores.crash_points import crash_point
from postino.values.job import Job
from postino.values.ledger import CallPolicy, Fact, IntentEntry, NewIntent, Source, Verdict
from postino.values.outcome import Defer, Held, Outcome, Retry, Unknown
from postino.values.provider import Act, Failure, HeldBack, Http, Intent, Kind, Look, NoAnswer, NotSent, Receipt, Resend


class HttpClientFactory(Protocol):
    """Opens the way outwards for one act."""

    def open(
        self, *, timeout: timedelta, may_send: Callable[[], str | None], visible: bool, secrets: Any, public: bool
    ) -> Http: ...


USUAL = CallPolicy()


@dataclass(frozen=True, slots=True)
class CallContext:
    """What calls of one worker have in common. `awake` is a clock that goes on while the machine sleeps."""

    enqueue: Callable[[JobSpec], Awaitable[Job]]
    door: HttpClientFactory
    now: Callable[[], datetime]
    uptime: Callable[[], float]
    may_send: Callable[[], str | None]  # why nothing may leave any more: the lease may be over
    circuits: CircuitMonitor
    meter: QuotaMeter
    grace: float = 0.0  # seconds between the time limit of a step and the job's deadline


class Call:
    """Handed to a handler with its job."""

    def __init__(self, ledger: JobLedger, reach: CallContext, manners: CallPolicy | None = None) -> None:
        self._ledger = ledger
        self._reach = reach
        self._manners = manners or USUAL

    @property
    def job(self) -> Job:
        """As it is now."""
        return self._ledger.job

    @property
    def progress_at(self) -> float:
        """When the last step began."""
        return self._ledger.progress_at

    @property
    def asked(self) -> bool:
        """Whether it has called anybody through its door."""
        return self._ledger.asked

    def limit_steps(self, seconds: float) -> None:
        """Each step may take so long, from now on."""
        self._ledger.progress_at = self._reach.uptime()
        self._ledger.limit = seconds + self._reach.grace

    @property
    def http(self) -> Http:
        """The way out for what is neither remembered nor visible."""
        return self._open(visible=False)

    def with_policy(self, manners: CallPolicy) -> "Call":
        """The same call from its first step, with the manners of a network."""
        self._ledger.entered.clear()
        return Call(self._ledger, self._reach, manners)

    async def enqueue(self, type: str, payload: Any = None, **details: Any) -> Job:
        """Enqueues a child of this job. What becomes of the child never changes its parent."""
        spec = JobSpec(type, payload, **details)
        return await self._reach.enqueue(
            replace(
                spec,
                parent=self.job.id,
                correlation_id=spec.correlation_id or self.job.correlation_id or str(self.job.id),
            )
        )

    async def step(self, name: str, act: Act, *arguments: Any) -> Any:
        """Inert: may be repeated after a crash. What came of it is remembered, so it must be JSON."""
        position = await self._enter(name)
        entry = self._ledger.remembered(name)
        if entry is not None and entry.result is not None:
            return json.loads(entry.result)
        result = await self._inert(act, arguments)
        entry = await self._ledger.remember(name, position, result)
        return json.loads(entry.result or "null")  # as it would be read after a crash

    async def until(self, name: str, ready: Act, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        """Asks until the answer is not None; between two questions the job is parked and holds nothing."""
        position = await self._enter(name)
        entry = self._ledger.remembered(name)
        if entry is not None and entry.result is not None:
            return json.loads(entry.result)
        result = await self._inert(ready, arguments)
        if result is not None:
            entry = await self._ledger.remember(name, position, result)
            return json.loads(entry.result or "null")
        entry = entry or await self._ledger.remember(name, position, None, done=False)
        now = self._reach.now()
        if now >= entry.asked_at + patience:
            await self._ledger.forget(name)
            raise StopRun(Retry(f"{name}: not there after {patience}. The next attempt starts anew."))
        raise StopRun(Defer(min(now + every, entry.asked_at + patience), f"waiting until {name}"))

    async def once(self, name: str, act: Act, *arguments: Any, found: Look | None, resend: Resend) -> Receipt:
        """Visible. If its answer is lost, `found` looks for it before anything is sent again, if it ever is."""
        position = await self._enter(name)
        tells = found is not None or resend.harmless
        match fate(await self._ledger.read(), name):
            case Accepted(receipt):
                return receipt
            case InDoubt() as doubt:
                receipt_found = await self._look(doubt, found, resend, arguments)
                if receipt_found is not None:
                    return await self._accept(name, doubt.intent.number, receipt_found, Source.LOOK)
                return await self._send(name, position, doubt.number, act, arguments, tells)
            case Clear(number):
                return await self._send(name, position, number, act, arguments, tells)

    async def held_by_others(self, remote_ids: list[str]) -> set[str]:
        """Which of these posts of this account belong to other jobs."""
        return await self._ledger.store.remote_ids_of_others(self.job, remote_ids)

    async def _enter(self, name: str) -> int:
        self._ledger.progress_at = self._reach.uptime()
        return await self._ledger.enter(name)

    async def _inert(self, act: Act, arguments: tuple[Any, ...]) -> Any:
        try:
            crash_point("step.before")
            result = await act(self._open(visible=False), *arguments)
            crash_point("step.after")
        except (NotSent, NoAnswer) as error:
            raise StopRun(self._unsent(error)) from error
        if isinstance(result, Failure):
            raise StopRun(await self._outcome(result))
        return result

    async def _send(
        self, name: str, position: int, number: int, act: Act, arguments: tuple[Any, ...], tells: bool
    ) -> Receipt:
        """Where nothing but a person ever tells what became of it, nobody waits before asking one."""
        shut = self._reach.circuits.shut(self.job.channel)
        if gate := shut or await self._reach.meter.reserve(self.job, name, number):
            raise StopRun(Held(gate.until_at or self._reach.now(), told_of_gate(gate)))
        began = self._reach.uptime()  # before the store knows of it, so that our time is over before the store's
        manners = self._manners
        intent = await self._ledger.intend(
            NewIntent(
                job_id=self.job.id,
                token=self.job.token,
                step=name,
                position=position,
                number=number,
                send_within=manners.send_within.total_seconds(),
                settles_within=(manners.timeout + manners.visibility).total_seconds(),
                limit=self._ledger.limit,
            )
        )
        look_at = intent.look_at if tells else None
        try:
            crash_point("send.before")
            result = await act(self._open(visible=True, until=began + manners.send_within.total_seconds()), *arguments)
            crash_point("send.after")
        except NotSent as error:
            await self._refuse(intent, str(error))
            await self._reach.meter.give_back(self.job, name, number)
            raise StopRun(self._unsent(error)) from error
        except Exception as error:
            # Whatever it is, it happened after something may have left.
            raise StopRun(Unknown(f"No answer that could be read came back: {error}", look_at)) from error
        match result:
            case Failure() if refuses(result):
                await self._refuse(intent, result.message)
                raise StopRun(await self._outcome(result))
            case Failure():
                raise StopRun(Unknown(f"It may be out there although it was refused: {result.message}", look_at))
            case Receipt():
                return await self._accept(name, number, result, Source.CALL)
        raise StopRun(Unknown(f"The answer made no sense: {result!r:.200}", look_at))

    async def _look(
        self, doubt: InDoubt, found: Look | None, resend: Resend, arguments: tuple[Any, ...]
    ) -> Receipt | None:
        """What was found, or None where it may be sent again. Everything else ends the run."""
        if self._reach.now() < doubt.intent.look_at:
            raise StopRun(Unknown("It may still be on its way.", doubt.intent.look_at))
        if found is None:
            decided: Accepted | SendAgain | LookAgain | AskPerson = without_look(doubt, resend, self._reach.now())
        else:
            decided = await self._asked(doubt, found, resend, arguments)
        match decided:
            case Accepted(receipt):
                return receipt
            case SendAgain():
                return None
            case LookAgain(why):
                raise StopRun(Unknown(why, doubt.intent.look_at))
            case AskPerson(why):
                raise StopRun(Unknown(why))

    async def _asked(
        self, doubt: InDoubt, found: Look, resend: Resend, arguments: tuple[Any, ...]
    ) -> Accepted | SendAgain | LookAgain:
        asked_about = Intent(
            number=doubt.intent.number,
            intended_at=doubt.first_intended_at,
            send_before_at=doubt.intent.send_before_at,
        )
        try:
            crash_point("lookup.before")
            sighting = await found(self._open(visible=False), asked_about, *arguments)
            crash_point("lookup.after")
        except (NotSent, NoAnswer) as error:
            raise StopRun(self._unsent(error)) from error
        if isinstance(sighting, Failure):
            raise StopRun(await self._outcome(sighting))
        return after_look(sighting, doubt, resend, self._reach.now())

    async def _accept(self, name: str, number: int, receipt: Receipt, told_by: Source) -> Receipt:
        fact = Fact(step=name, number=number, verdict=Verdict.ACCEPTED, told_by=told_by, receipt=receipt)
        noted = await self._ledger.note(fact)
        if noted.held_by is not None:
            told = f"The network named {receipt.remote_id}, which is what job {noted.held_by} became."
            raise StopRun(Unknown(told))
        return receipt

    async def _refuse(self, intent: IntentEntry, why: str) -> None:
        fact = Fact(step=intent.step, number=intent.number, verdict=Verdict.REFUSED, told_by=Source.CALL, why=why)
        await self._ledger.note(fact)

    async def _outcome(self, failure: Failure) -> Outcome:
        if self._manners.refused is not None:
            await self._manners.refused(failure)
        return await self.heard(failure)

    async def heard(self, failure: Failure) -> Outcome:
        """What a network's no means for this job; "too many" concerns the others of its account as well."""
        if failure.kind is Kind.RATE_LIMIT:
            gate = await self._reach.meter.cool(self.job, failure)
            failure = replace(failure, until=gate.until_at)
        return outcome_of(failure, self._reach.now())

    def _unsent(self, error: NotSent | NoAnswer) -> Outcome:
        """A gate that closed meanwhile spends no attempt: it is claimed again when that opens."""
        return Held(self._reach.now(), str(error)) if isinstance(error, HeldBack) else Retry(str(error))

    def _open(self, *, visible: bool, until: float | None = None) -> Http:
        def may_send() -> str | None:
            if until is not None and self._reach.uptime() > until:
                return "It was too late to begin: what was intended for one moment is not sent in another."
            return self._reach.may_send()

        manners = self._manners
        http = self._reach.door.open(
            timeout=manners.timeout,
            may_send=may_send,
            visible=visible,
            secrets=manners.secrets,
            public=manners.public,
        )
        return GuardedHttp(http, self._reach.circuits, self.job.channel, self._ledger.ask)
