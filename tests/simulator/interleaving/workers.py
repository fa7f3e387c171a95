"""What worker processes do: poll, claim, send, settle, die, and rescue the jobs of those who died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from postino.rules import settlement
from postino.rules.quota import Quota
from postino.rules.retry import RetryPolicy, Schedule
from postino.stores.operations import claims, ledger, maintenance, quotas, rescue, settle, unreachable_jobs, workers
from postino.stores.operations.poll import poll
from postino.stores.records import ClaimRequest, PollResult, SettledJob, WorkerInfo
from postino.values.gate import Gate, Scope
from postino.values.job import Job
from postino.values.ledger import IntentEntry, NewIntent, ReceiptEntry, ReceiptSource, RecordedReceipt, Verdict
from postino.values.outcome import Defer, Done, GateClosed, Outcome, Reject, Retry, Unknown
from postino.values.post import POST
from postino.values.provider import Receipt
from tests.simulator.interleaving.actor import Act, Actor
from tests.simulator.interleaving.names import MAIL, NOTE

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

POLICY = RetryPolicy(max_attempts=50, backoff=Schedule([1, 70]))
TYPES = (POST, NOTE, MAIL)
STEP, SEND_WITHIN, LOOKUP_DELAY = "post", 5.0, 30.0
QUOTA = Quota(name="calls", most=2, period=timedelta(seconds=60), whose=Scope.CHANNEL, costs={STEP: 1})


class Workers:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance
        self.names: list[str] = []
        self.made = 0
        self.beats: dict[str, int] = {}
        self.polls: dict[str, PollResult] = {}
        self.held: list[Job] = []  # what workers believe to hold, also those that were declared dead
        self.calls: list[tuple[UUID, int]] = []  # sent, and without a receipt so far
        self.remote_ids = 0

    async def begin(self) -> None:
        for _ in range(self.chance.choice((1, 2, 2, 3))):
            await self.life.run(self.enlist())

    def enlist(self) -> Act:
        self.made += 1
        name = f"worker {self.made}"
        self.names.append(name)
        self.beats[name] = 0
        return Act(
            who=name, what="registers", is_transaction=False,
            begin=lambda: workers.register_worker(WorkerInfo(id=name, host="h", pid=1)),
        )  # fmt: skip

    # Claims

    def poll(self) -> Act:
        """Poll without a claim: a later claim acts on what is old by then."""
        who = self.chance.choice(self.names)

        def keep(_: Actor, result: PollResult) -> None:
            self.polls[who] = result

        return Act(who=who, what="polls", begin=lambda: poll(who, types=TYPES), is_transaction=False, committed=keep)

    def claim(self) -> Act:
        who = self.chance.choice(self.names)
        free = self.chance.choice((1, 2, 3))
        old = self.polls.pop(who, None)
        if old is not None:
            return self.make_claim(who, free, old)
        return Act(
            who=who,
            what="polls",
            begin=lambda: poll(who, types=TYPES),
            is_transaction=False,
            answered=partial(self.make_claim, who, free),
        )

    def make_claim(self, who: str, free: int, found: PollResult) -> Act:
        request = ClaimRequest(worker=who, token=self.life.make_id(), free=free, poll=found)

        def take(jobs: Sequence[Job]) -> None:
            self.held += jobs

        return Act(
            who=who, what=f"claims up to {free}", begin=lambda: claims.claim(request),
            is_transaction=not claims.is_single_statement(request), committed=self.life.oracle.claimed, answered=take,
        )  # fmt: skip

    def take_held(self) -> Job | None:
        return self.held.pop(self.chance.randrange(len(self.held))) if self.held else None

    # Jobs that run

    def settle(self) -> Act | None:
        job = self.take_held()
        if job is None:
            return None
        now, claimed_by = self.life.now, job.claimed_by or ""
        outcomes: tuple[Outcome, ...] = (
            Done(), Done(), Retry("again"), Retry("later", now + timedelta(seconds=20)), GateClosed(now, "gate"),
            Defer(now + timedelta(seconds=5), "busy"), Unknown("?", job.lookup_at), Reject("no"),
        )  # fmt: skip
        outcome = self.chance.choice(outcomes)
        settled = [SettledJob(job, settlement.settle_job(job, outcome, POLICY, now, 0))]
        release = settlement.release_job(job, now)
        if self.chance.random() < 0.1:
            settled = [SettledJob(job, release)]
        return self.make_settle(claimed_by, settled, type(outcome).__name__, again=False)

    def make_settle(self, who: str, settled: list[SettledJob], name: str, *, again: bool) -> Act:
        job = self.life.oracle.describe(settled[0].job.id)

        def note(_: Actor, stored: set[UUID]) -> None:
            if not again:
                self.life.oracle.settled(settled, stored)
            else:
                held = {it.job.id for it in settled if self.life.oracle.jobs[it.job.id].token == it.job.token}
                self.life.oracle.settled(settled, stored & held)

        def repeat() -> None:
            self.held += [it.job for it in settled if self.chance.random() < 0.5]

        return Act(
            who=who, what=f"settles {job} as {name}", begin=lambda: settle.settle(settled, again),
            is_transaction=settle.needs_transaction(settled), committed=note, unanswered=repeat,
        )  # fmt: skip

    def intend(self) -> Act | None:
        """Commit the intent of a call that a worker is about to send."""
        known = self.life.oracle.jobs
        free = [job for job in self.held if job.lookup_at is None and not known[job.id].is_live]
        if not free:
            return None
        job = self.chance.choice(free)
        number = len(self.life.oracle.jobs[job.id].intents) + 1
        intent = NewIntent(
            job_id=job.id, token=job.token, step=STEP, position=0, number=number, send_within=SEND_WITHIN,
            lookup_delay=LOOKUP_DELAY, channel=job.channel, account=job.account,
        )  # fmt: skip

        def note(actor: Actor, entries: list[IntentEntry | None]) -> None:
            if entries[0] is not None:
                self.life.oracle.intended(actor, job, number)
                self.calls.append((job.id, number))
                self.replace(job, replace(job, may_be_live=True, lookup_at=entries[0].lookup_at))
            else:
                self.replace(job, None)

        return Act(
            who=job.claimed_by or "", what=f"intends to send {self.life.oracle.describe(job.id)}",
            begin=lambda: ledger.record_intents([intent]), is_transaction=False, committed=note,
        )  # fmt: skip

    def replace(self, job: Job, by: Job | None) -> None:
        if job in self.held:
            place = self.held.index(job)
            self.held[place : place + 1] = [] if by is None else [by]

    def receive(self) -> Act | None:
        """Record what the network answers. Anyone may, at any time."""
        if not self.calls:
            return None
        job_id, number = self.calls.pop(self.chance.randrange(len(self.calls)))
        verdict = self.chance.choice((Verdict.REFUSED, Verdict.REFUSED, Verdict.ACCEPTED))
        self.remote_ids += self.chance.random() < 0.9
        receipt = Receipt(remote_id=f"post {self.remote_ids}") if verdict is Verdict.ACCEPTED else None
        entry = ReceiptEntry(step=STEP, number=number, verdict=verdict, source=ReceiptSource.CALL, receipt=receipt)

        def note(_: Actor, recorded: RecordedReceipt) -> None:
            if recorded.held_by is None:
                self.life.oracle.received(job_id, number, verdict)
            for job in self.held:
                if job.id == job_id:
                    self.replace(job, replace(job, lookup_at=recorded.lookup_at))
                    break

        def repeat() -> None:
            self.calls.append((job_id, number))

        return Act(
            who=f"response {len(self.life.story)}", what=f"answers for {self.life.oracle.describe(job_id)}: {verdict}",
            begin=lambda: ledger.record_receipt(job_id, entry), committed=note, unanswered=repeat,
        )  # fmt: skip

    # Quotas

    def reserve_quota(self) -> Act | None:
        job = self.chance.choice(self.held) if self.held else None
        if job is None:
            return None

        def note(_: Actor, gate: Gate | None) -> None:
            if gate is not None:
                self.replace(job, job)

        return Act(
            who=job.claimed_by or "", what=f"reserves quota for {self.life.oracle.describe(job.id)}",
            begin=lambda: quotas.reserve_quota(job, STEP, job.attempts, [QUOTA]), committed=note,
        )  # fmt: skip

    def release_quota(self) -> Act | None:
        job = self.chance.choice(self.held) if self.held else None
        return None if job is None else Act(
            who=job.claimed_by or "", what=f"releases quota of {self.life.oracle.describe(job.id)}",
            begin=lambda: quotas.release_quota(job, STEP, job.attempts), is_transaction=False,
        )  # fmt: skip

    # The life of processes

    def beat(self) -> Act:
        who = self.chance.choice(self.names)

        def count(_: Actor, result: PollResult) -> None:
            self.beats[who] = result.heartbeats.get(who, 0)

        return Act(
            who=who,
            what="polls with a heartbeat",
            begin=lambda: poll(who, heartbeat=True, types=TYPES),
            is_transaction=False,
            committed=count,
        )

    def restart(self) -> Act | None:
        """End a worker regularly, and start another one."""
        if len(self.names) == 1:
            return None
        who = self.names.pop(self.chance.randrange(len(self.names)))
        self.polls.pop(who, None)
        return Act(
            who=who, what="ends", begin=lambda: workers.unregister_worker(who), is_transaction=False,
            answered=lambda _: self.enlist(), unanswered=lambda: self.names.append(who),
        )  # fmt: skip

    def rescue(self) -> Act:
        """Declare a worker dead, at times wrongly, and settle the jobs that no worker holds."""
        dead: Mapping[str, int] = {}
        if self.chance.random() < 0.4:
            name = self.chance.choice(self.names)
            dead = {name: self.beats[name]}
        who = self.chance.choice(self.names)

        def note(_: Actor, settled: list[SettledJob]) -> None:
            self.life.oracle.rescued(settled)

        def replace_dead(_: object) -> Act | None:
            for name in dead:
                if name in self.names:
                    self.names.remove(name)
                    self.polls.pop(name, None)
            return self.enlist() if dead else None

        return Act(
            who=who, what=f"rescues the jobs of {' '.join(dead) or 'nobody'}",
            begin=lambda: rescue.rescue(dead, settlement.rescue_job), committed=note, answered=replace_dead,
        )  # fmt: skip

    def take_duty(self) -> Act:
        who, seconds = self.chance.choice(self.names), 10.0

        def note(actor: Actor, is_taken: bool) -> None:
            if is_taken:
                self.life.oracle.take_duty(actor.now, seconds)

        def forget(_: Actor, __: object) -> None:
            self.life.oracle.duty_until = None

        def finish(is_taken: bool) -> Act | None:
            return None if not is_taken else Act(
                who=who, what="ends a duty", begin=lambda: maintenance.finish_duty("sweep", who),
                is_transaction=False, committed=forget,
            )  # fmt: skip

        return Act(
            who=who, what="takes a duty", begin=lambda: maintenance.take_duty("sweep", who, seconds, 15.0),
            is_transaction=False, committed=note, answered=finish,
        )  # fmt: skip

    def hint_unreachable(self) -> Act:
        who = self.chance.choice(self.names)
        return Act(who=who, what="looks for unreachable jobs", begin=unreachable_jobs.hint_unreachable_jobs)
