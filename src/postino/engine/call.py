"""What a handler gets to do its work: remembered steps, one visible call at a time, child jobs, an HTTP client."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from postino.engine.call_context import CallContext
from postino.engine.cooldown import start_cooldown
from postino.engine.guarded_http import GuardedHttp
from postino.engine.job_ledger import JobLedger, StopRun
from postino.engine.job_spec import JobSpec
from postino.rules.failures import is_definite_refusal
from postino.rules.gates import describe_closed_gate
from postino.rules.ledger import (
    Accepted,
    AskPerson,
    LookUpAgain,
    ReadyToSend,
    SendAgain,
    UncertainStep,
    decide_after_lookup,
    decide_without_lookup,
    get_step_status,
    to_outcome,
)
from postino.stores.crash_points import crash_point
from postino.values.job import Job
from postino.values.ledger import CallPolicy, IntentEntry, NewIntent, ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Defer, GateClosed, Outcome, Retry, Unknown
from postino.values.provider import (
    Action,
    CallBlocked,
    Failure,
    FailureKind,
    Http,
    Intent,
    Lookup,
    LostResponse,
    NotSent,
    Receipt,
    Resend,
)

DEFAULT_POLICY = CallPolicy()


class Call:
    """Passed to a handler with its job."""

    def __init__(self, ledger: JobLedger, context: CallContext, policy: CallPolicy = DEFAULT_POLICY) -> None:
        self._ledger = ledger
        self._context = context
        self._policy = policy

    @property
    def job(self) -> Job:
        """The job as it is now."""
        return self._ledger.job

    @property
    def progress_at(self) -> float:
        """When the last step began, on the context's `uptime` clock."""
        return self._ledger.progress_at

    @property
    def has_called_service(self) -> bool:
        """Whether this run has sent a request through this call's HTTP client."""
        return self._ledger.has_called_service

    def limit_steps(self, seconds: float) -> None:
        """Give each step this many seconds from its start."""
        self._ledger.progress_at = self._context.uptime()
        self._ledger.limit = seconds + self._context.grace

    @property
    def http(self) -> Http:
        """An HTTP client for requests that are neither remembered nor visible to others."""
        return self._open_http(visible=False)

    def with_policy(self, policy: CallPolicy) -> "Call":
        """Return this call with another policy. Its steps begin again at the first; finished ones are remembered."""
        self._ledger.entered.clear()
        return Call(self._ledger, self._context, policy)

    async def enqueue(self, type: str, payload: Any = None, **details: Any) -> Job:
        """Enqueue a child of this job. What becomes of the child does not change its parent."""
        spec = JobSpec(type, payload, **details)
        return await self._context.enqueue(
            replace(
                spec,
                parent=self.job.id,
                correlation_id=spec.correlation_id or self.job.correlation_id or str(self.job.id),
            )
        )

    async def step(self, name: str, act: Action, *arguments: Any) -> Any:
        """Do something that others cannot see, such as an upload, and remember its result, which must be JSON.

        After a crash the step may run again.
        """
        position = await self._enter_step(name)
        entry = self._ledger.find_step(name)
        if entry is not None and entry.result is not None:
            return json.loads(entry.result)
        result = await self._run_step(act, arguments)
        entry = await self._ledger.save_step(name, position, result)
        return json.loads(entry.result or "null")  # as it would be read after a crash

    async def until(self, name: str, ready: Action, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        """Poll until `ready` returns something other than None, and remember it.

        Between two polls the job is pending and holds neither a slot nor a lock. After `patience` the attempt fails.
        """
        position = await self._enter_step(name)
        entry = self._ledger.find_step(name)
        if entry is not None and entry.result is not None:
            return json.loads(entry.result)
        result = await self._run_step(ready, arguments)
        if result is not None:
            entry = await self._ledger.save_step(name, position, result)
            return json.loads(entry.result or "null")
        entry = entry or await self._ledger.save_step(name, position, None, done=False)
        now = self._context.now()
        if now >= entry.asked_at + patience:
            await self._ledger.forget_step(name)
            raise StopRun(Retry(f"{name}: not ready after {patience}. The next attempt starts again."))
        raise StopRun(Defer(min(now + every, entry.asked_at + patience), f"waiting until {name}"))

    async def once(self, name: str, act: Action, *arguments: Any, found: Lookup | None, resend: Resend) -> Receipt:
        """Make the call that others can see. If its response is lost, look it up with `found` before sending again.

        `resend` says whether and for how long the network recognises a repetition. Without `found`, and unless a
        repetition is harmless, a lost response needs a person.
        """
        position = await self._enter_step(name)
        can_recover = found is not None or resend.harmless
        match get_step_status(await self._ledger.load(), name):
            case Accepted(receipt):
                return receipt
            case UncertainStep() as doubt:
                existing = await self._look_up(doubt, found, resend, arguments)
                if existing is not None:
                    return await self._accept(name, doubt.intent.number, existing, ReceiptSource.LOOKUP)
                return await self._send(name, position, doubt.number, act, arguments, can_recover)
            case ReadyToSend(number):
                return await self._send(name, position, number, act, arguments, can_recover)

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        """Return those of these remote ids that belong to other jobs of the same account."""
        return await self._ledger.store.remote_ids_of_others(self.job, remote_ids)

    async def handle_failure(self, failure: Failure) -> Outcome:
        """Return the outcome of a failure that a network reported. A rate limit also starts a cooldown."""
        if failure.kind is FailureKind.RATE_LIMIT:
            gate = await start_cooldown(self._ledger.store, self._context.circuits, self.job, failure)
            failure = replace(failure, until=gate.until_at)
        return to_outcome(failure, self._context.now())

    async def _enter_step(self, name: str) -> int:
        self._ledger.progress_at = self._context.uptime()
        return await self._ledger.enter_step(name)

    async def _run_step(self, act: Action, arguments: tuple[Any, ...]) -> Any:
        try:
            crash_point("step.before")
            result = await act(self._open_http(visible=False), *arguments)
            crash_point("step.after")
        except (NotSent, LostResponse) as error:
            raise StopRun(self._retry_later(error)) from error
        if isinstance(result, Failure):
            raise StopRun(await self._fail(result))
        return result

    async def _send(
        self, name: str, position: int, number: int, act: Action, arguments: tuple[Any, ...], can_recover: bool
    ) -> Receipt:
        """Commit the intent, make the visible call, and store its receipt."""
        gate = self._context.circuits.find_closed_gate(self.job.channel)
        gate = gate or await self._context.quotas.reserve(self.job, name, number)
        if gate is not None:
            raise StopRun(GateClosed(gate.until_at or self._context.now(), describe_closed_gate(gate)))
        policy = self._policy
        # Before the intent is committed, so that this worker stops sending before others begin to look it up.
        send_until = self._context.uptime() + policy.send_within.total_seconds()
        intent = await self._ledger.record_intent(self._make_intent(name, position, number))
        lookup_at = intent.lookup_at if can_recover else None
        try:
            crash_point("send.before")
            result = await act(self._open_http(visible=True, until=send_until), *arguments)
            crash_point("send.after")
        except NotSent as error:
            await self._refuse(intent, str(error))
            await self._context.quotas.release(self.job, name, number)
            raise StopRun(self._retry_later(error)) from error
        except Exception as error:
            # Whatever it is, the request may have left.
            raise StopRun(Unknown(f"No readable response came back: {error}", lookup_at)) from error
        match result:
            case Failure() if is_definite_refusal(result):
                await self._refuse(intent, result.message)
                raise StopRun(await self._fail(result))
            case Failure():
                raise StopRun(Unknown(f"It may have been published despite this error: {result.message}", lookup_at))
            case Receipt():
                return await self._accept(name, number, result, ReceiptSource.CALL)
        raise StopRun(Unknown(f"The response could not be understood: {result!r:.200}", lookup_at))

    def _make_intent(self, name: str, position: int, number: int) -> NewIntent:
        policy = self._policy
        return NewIntent(
            job_id=self.job.id,
            token=self.job.token,
            step=name,
            position=position,
            number=number,
            send_within=policy.send_within.total_seconds(),
            settles_within=(policy.timeout + policy.visibility).total_seconds(),
            limit=self._ledger.limit,
        )

    async def _look_up(
        self, doubt: UncertainStep, found: Lookup | None, resend: Resend, arguments: tuple[Any, ...]
    ) -> Receipt | None:
        """Return the receipt of a lost call, or None if the call may be repeated. Otherwise end the run."""
        if self._context.now() < doubt.intent.lookup_at:
            raise StopRun(Unknown("The request may still be on its way.", doubt.intent.lookup_at))
        if found is None:
            decision: Accepted | SendAgain | LookUpAgain | AskPerson = decide_without_lookup(
                doubt, resend, self._context.now()
            )
        else:
            decision = await self._ask_network(doubt, found, resend, arguments)
        match decision:
            case Accepted(receipt):
                return receipt
            case SendAgain():
                return None
            case LookUpAgain(why):
                raise StopRun(Unknown(why, doubt.intent.lookup_at))
            case AskPerson(why):
                raise StopRun(Unknown(why))

    async def _ask_network(
        self, doubt: UncertainStep, found: Lookup, resend: Resend, arguments: tuple[Any, ...]
    ) -> Accepted | SendAgain | LookUpAgain:
        intent = Intent(
            number=doubt.intent.number,
            intended_at=doubt.first_intended_at,
            send_before_at=doubt.intent.send_before_at,
        )
        try:
            crash_point("lookup.before")
            sighting = await found(self._open_http(visible=False), intent, *arguments)
            crash_point("lookup.after")
        except (NotSent, LostResponse) as error:
            raise StopRun(self._retry_later(error)) from error
        if isinstance(sighting, Failure):
            raise StopRun(await self._fail(sighting))
        return decide_after_lookup(sighting, doubt, resend, self._context.now())

    async def _accept(self, name: str, number: int, receipt: Receipt, source: ReceiptSource) -> Receipt:
        fact = ReceiptEntry(step=name, number=number, verdict=Verdict.ACCEPTED, source=source, receipt=receipt)
        noted = await self._ledger.record_receipt(fact)
        if noted.held_by is not None:
            raise StopRun(Unknown(f"The network returned {receipt.remote_id}, which belongs to job {noted.held_by}."))
        return receipt

    async def _refuse(self, intent: IntentEntry, why: str) -> None:
        fact = ReceiptEntry(
            step=intent.step, number=intent.number, verdict=Verdict.REFUSED, source=ReceiptSource.CALL, why=why
        )
        await self._ledger.record_receipt(fact)

    async def _fail(self, failure: Failure) -> Outcome:
        if self._policy.on_failure is not None:
            await self._policy.on_failure(failure)
        return await self.handle_failure(failure)

    def _retry_later(self, error: NotSent | LostResponse) -> Outcome:
        """Return the outcome of a request that got no response. A gate that closed meanwhile costs no attempt."""
        return GateClosed(self._context.now(), str(error)) if isinstance(error, CallBlocked) else Retry(str(error))

    def _open_http(self, *, visible: bool, until: float | None = None) -> Http:
        def may_send() -> str | None:
            if until is not None and self._context.uptime() > until:
                return "It is too late to send: the time in which this call had to begin is over."
            return self._context.may_send()

        policy = self._policy
        http = self._context.http.open(
            timeout=policy.timeout,
            may_send=may_send,
            visible=visible,
            secrets=policy.secrets,
            public=policy.public,
        )
        return GuardedHttp(http, self._context.circuits, self.job.channel, self._ledger.mark_service_called)
