"""What a handler gets besides its job: stored steps, one visible call at a time, child jobs, an HTTP client."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from postino.engine.call_context import CallContext
from postino.engine.cooldown import start_cooldown
from postino.engine.guarded_http import GuardedHttp, hide_secrets
from postino.engine.job_ledger import JobLedger, StopRun
from postino.engine.job_spec import JobSpec
from postino.engine.service_guard import ServiceGuard
from postino.engine.witness import DatabaseClosed
from postino.rules.failures import is_definite_refusal
from postino.rules.gates import wait_for_gate
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
    list_suspicions,
    to_outcome,
)
from postino.rules.receipt_checks import check_receipt
from postino.rules.token_patterns import hide_tokens
from postino.stores.crash_points import crash_point
from postino.values.gate import Gate
from postino.values.job import Job
from postino.values.ledger import CallPolicy, IntentEntry, NewIntent, ReceiptEntry, ReceiptSource, Suspicion, Verdict
from postino.values.outcome import Defer, GateClosed, Held, Outcome, Retry, Unknown
from postino.values.provider import (
    Action,
    CallBlocked,
    CannotTell,
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
LONG_RUN = timedelta(seconds=1)  # until then, the gates that the claim has read are recent enough


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
        """When the last step began or data of its request last moved, on the context's `uptime` clock."""
        return self._ledger.progress_at

    @property
    def has_called_service(self) -> bool:
        """Whether this run has sent a request through this call's HTTP client."""
        return self._ledger.has_called_service

    @property
    def has_fetched_media(self) -> bool:
        """Whether this run has downloaded from a URL that a person gave."""
        return self._ledger.has_fetched_media

    def limit_steps(self, seconds: float) -> None:
        """Give each step this many seconds from its start, or from the last time that data of its request moved."""
        self._ledger.progress_at = self._context.uptime()
        self._ledger.limit = seconds + self._context.grace

    async def extend_deadline(self) -> None:
        """Move the job's deadline on, so that no other worker takes over a job that makes progress."""
        await self._ledger.extend_deadline()

    @property
    def http(self) -> Http:
        """An HTTP client for requests that are neither remembered nor visible to others."""
        return self._open_http(visible=False)

    def with_policy(self, policy: CallPolicy) -> "Call":
        """Return this call with another policy. Its steps begin again at the first; finished ones are remembered."""
        self._ledger.entered.clear()
        return Call(self._ledger, self._context, policy)

    async def enqueue(self, type: str, payload: Any = None, **details: Any) -> Job:
        """Enqueue a child of this job. The result of the child does not change its parent.

        A handler may run again and enqueue the child again: without a `key`, children of the same type, payload,
        channel and account are one job. Children of one run that differ in `at` are several. Raises Conflict if a
        child for another time exists, and the time has not moved with the clock.
        """
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

    async def once(
        self,
        name: str,
        act: Action,
        *arguments: Any,
        found: Lookup | None,
        resend: Resend,
        prepare: Action | None = None,
    ) -> Receipt:
        """Make the call that others can see. If its response is lost, look it up with `found` before sending again.

        `resend` says whether and for how long the network recognises a repetition. Without `found`, and unless a
        repetition is harmless, a lost response needs a person. `prepare` runs before each time that the call is sent,
        and `act` gets its result as the first argument.
        """
        position = await self._enter_step(name)
        can_recover = found is not None or resend.harmless
        match get_step_status(await self._ledger.load(), name):
            case Accepted(receipt):
                return receipt
            case UncertainStep() as doubt:
                existing = await self._look_up(doubt, found, resend, arguments)
                number = doubt.number if doubt.suspicion else doubt.intent.number
                if existing is not None:
                    return await self._accept(name, number, existing, ReceiptSource.LOOKUP)
                if doubt.suspicion:
                    await self._end_suspicion(doubt)
                number = doubt.number
            case ReadyToSend(number):
                pass
        prepared = () if prepare is None else (await self._prepare(prepare, arguments),)
        return await self._send(name, position, number, act, (*prepared, *arguments), can_recover)

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        """Return those of these remote ids that belong to other jobs of the same account."""
        return await self._ledger.store.remote_ids_of_others(self.job, remote_ids, self._policy.id_scope)

    async def handle_failure(self, failure: Failure) -> Outcome:
        """Return the outcome of a failure that a network reported. A rate limit also starts a cooldown."""
        failure = replace(failure, message=hide_tokens(failure.message))
        if failure.kind is FailureKind.RATE_LIMIT:
            gate = await start_cooldown(self._ledger.store, self._context.circuits, self.job, failure)
            failure = replace(failure, until=gate.until_at)
        return to_outcome(failure, self._context.now())

    async def _enter_step(self, name: str) -> int:
        self._ledger.progress_at = self._context.uptime()
        return await self._ledger.enter_step(name)

    async def _run_step(self, act: Action, arguments: tuple[Any, ...]) -> Any:
        http = self._open_http(visible=False)
        try:
            crash_point("step.before")
            result = await act(http, *arguments)
            crash_point("step.after")
        except (NotSent, LostResponse) as error:
            raise StopRun(self._retry_later(error)) from error
        if isinstance(result, Failure):
            raise StopRun(await self._fail(hide_secrets(result, http)))
        return result

    async def _prepare(self, prepare: Action, arguments: tuple[Any, ...]) -> Any:
        """Do slow work whose result is not stored, such as a download, before the time to send begins."""
        if gate := await self._guard.find_closed_gate():
            raise StopRun(wait_for_gate(gate, self.job, self._context.now()))
        prepared = await self._run_step(prepare, arguments)
        self._ledger.progress_at = self._context.uptime()
        return prepared

    async def _send(
        self, name: str, position: int, number: int, act: Action, arguments: tuple[Any, ...], can_recover: bool
    ) -> Receipt:
        """Commit the intent, make the visible call, and store its receipt."""
        gate = await self._guard.find_closed_gate() or await self._find_gate_of_a_long_run()
        gate = gate or await self._context.quotas.reserve(self.job, name, number)
        if gate is not None:
            raise StopRun(wait_for_gate(gate, self.job, self._context.now()))
        policy = self._policy
        # Before the intent is committed, so that this worker stops sending before others begin to look it up.
        send_until = self._context.uptime() + policy.send_within.total_seconds()
        try:
            intent = await self._ledger.record_intent(self._make_intent(name, position, number), self._context.now)
        except (DatabaseClosed, StopRun) as error:  # the intent was not written
            await self._context.quotas.release(self.job, name, number)
            if isinstance(error, StopRun):
                raise
            raise StopRun(GateClosed(self._context.now(), str(error))) from error
        lookup_at = intent.lookup_at if can_recover else None
        http = self._open_http(visible=True, until=send_until)
        try:
            crash_point("send.before")
            result = await act(http, *arguments)
            crash_point("send.after")
        except NotSent as error:
            if http.may_have_published:
                raise StopRun(Unknown(f"An earlier request of this call was sent. {error}", lookup_at)) from error
            await self._refuse(intent, str(error))
            await self._context.quotas.release(self.job, name, number)
            raise StopRun(self._retry_later(error)) from error
        except Exception as error:
            # Whatever it is, the request may have left.
            reason = http.redact(f"No readable response came back: {error}")
            raise StopRun(Unknown(reason, lookup_at)) from error
        if isinstance(result, Failure):
            result = hide_secrets(result, http)
        match check_receipt(result) if isinstance(result, Receipt) else result:
            case Failure() if is_definite_refusal(result) and not http.may_have_published_earlier:
                await self._refuse(intent, result.message)
                raise StopRun(await self._fail(result))
            case Failure():
                raise StopRun(
                    Unknown(f"The post may have been published despite this error: {result.message}", lookup_at)
                )
            case Receipt() as receipt:
                return await self._accept(name, number, receipt, ReceiptSource.CALL)
            case CannotTell(why):
                raise StopRun(Unknown(why, lookup_at))
        raise StopRun(Unknown(http.redact(f"The response could not be understood: {result!r:.200}"), lookup_at))

    async def _find_gate_of_a_long_run(self) -> Gate | None:
        """Return a gate that has closed during a run that has taken long, such as for an upload.

        The write of the intent refuses paused jobs at any time; this read also finds blackouts and all other gates.
        """
        if self.job.claimed_at is None or self._context.now() - self.job.claimed_at < LONG_RUN:
            return None
        return await self._ledger.find_blocking_gate()

    def _make_intent(self, name: str, position: int, number: int) -> NewIntent:
        policy = self._policy
        return NewIntent(
            job_id=self.job.id,
            token=self.job.token,
            step=name,
            position=position,
            number=number,
            send_within=policy.send_within.total_seconds(),
            lookup_delay=(policy.timeout + policy.listing_delay).total_seconds(),
            limit=self._ledger.limit,
            id_scope=policy.id_scope,
        )

    async def _look_up(
        self, doubt: UncertainStep, found: Lookup | None, resend: Resend, arguments: tuple[Any, ...]
    ) -> Receipt | None:
        """Return the receipt of a lost call, or None if the call may be repeated. Otherwise end the run."""
        why, lookup_at = "The request may still be on its way.", doubt.intent.lookup_at
        if doubt.suspicion:
            lookup_at += self._policy.timeout + self._policy.listing_delay
        if self._context.now() < lookup_at:
            raise StopRun(Defer(lookup_at, why) if doubt.suspicion else Unknown(why, lookup_at))
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
                raise StopRun(Held(why) if doubt.suspicion else Unknown(why))

    async def _ask_network(
        self, doubt: UncertainStep, found: Lookup, resend: Resend, arguments: tuple[Any, ...]
    ) -> Accepted | SendAgain | LookUpAgain | AskPerson:
        intent = Intent(
            number=doubt.intent.number,
            intended_at=doubt.first_intended_at,
            send_before_at=doubt.intent.send_before_at,
        )
        http = self._open_http(visible=False)
        try:
            crash_point("lookup.before")
            lookup_result = await found(http, intent, *arguments)
            crash_point("lookup.after")
        except (NotSent, LostResponse) as error:
            raise StopRun(self._retry_later(error)) from error
        if isinstance(lookup_result, Failure):
            raise StopRun(await self._fail(hide_secrets(lookup_result, http)))
        return decide_after_lookup(lookup_result, doubt, resend, self._context.now())

    async def _end_suspicion(self, doubt: UncertainStep) -> None:
        """Record that the post was not published in the time that the database has lost.

        A post that had become due begins again, because gates hold it from now on, or waits for the time that a person
        has given it since.
        """
        for intent in list_suspicions(await self._ledger.load()):
            await self._refuse(intent, "It was not published in the time that is lost.", ReceiptSource.LOOKUP)
        if doubt.suspicion is not Suspicion.EARLY and not self.job.may_be_live:
            if self.job.scheduled_at > self._context.now():
                raise StopRun(Defer(self.job.scheduled_at, "The network does not have it, so it waits for its time."))
            raise StopRun(GateClosed(self._context.now(), "The network does not have it, so it is published."))

    async def _accept(self, name: str, number: int, receipt: Receipt, source: ReceiptSource) -> Receipt:
        entry = ReceiptEntry(step=name, number=number, verdict=Verdict.ACCEPTED, source=source, receipt=receipt)
        noted = await self._ledger.record_receipt(entry)
        if noted.held_by is not None:
            raise StopRun(Unknown(f"The network returned {receipt.remote_id}, which belongs to job {noted.held_by}."))
        return receipt

    async def _refuse(self, intent: IntentEntry, why: str, source: ReceiptSource = ReceiptSource.CALL) -> None:
        entry = ReceiptEntry(step=intent.step, number=intent.number, verdict=Verdict.REFUSED, source=source, why=why)
        await self._ledger.record_receipt(entry)

    async def _fail(self, failure: Failure) -> Outcome:
        if self._policy.on_failure is not None:
            await self._policy.on_failure(failure)
        return await self.handle_failure(failure)

    def _retry_later(self, error: NotSent | LostResponse) -> Outcome:
        """Return the outcome of a request that got no response. A gate that closed meanwhile costs no attempt."""
        return GateClosed(self._context.now(), str(error)) if isinstance(error, CallBlocked) else Retry(str(error))

    @property
    def _guard(self) -> ServiceGuard:
        return ServiceGuard(self._context.circuits, self.job.channel, self._policy.service)

    def _note_progress(self) -> str | None:
        """Extend the time of the step, because data has moved; return the reason if this worker must stop."""
        self._ledger.progress_at = self._context.uptime()
        return self._context.may_send()

    def _open_http(self, *, visible: bool, until: float | None = None) -> GuardedHttp:
        def may_send() -> str | None:
            if until is not None and self._context.uptime() > until:
                return "It is too late to send: the time in which this call had to begin is over."
            return self._context.may_send()

        policy = self._policy
        http = self._context.http.open(
            timeout=policy.timeout,
            may_send=may_send,
            on_progress=self._note_progress,
            visible=visible,
            secrets=policy.secrets,
            public=policy.public,
        )
        return GuardedHttp(http, self._guard, self._ledger.mark_service_called, self._ledger.mark_media_fetched)
