"""How many jobs a worker claims ahead: as many as get a slot in a moment, none behind long jobs."""

from datetime import UTC, datetime

from postino.engine.slots import AHEAD, STUCK_AFTER, Run, Slots
from postino.values.job import Job, Queue, State, new_id


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def a_job(queue: Queue = Queue.DEFAULT) -> Job:
    now = datetime.now(UTC)
    return Job(
        id=new_id(), type="t", channel="c", queue=queue, state=State.RUNNING, payload=b"", idempotency_key="k",
        scheduled_at=now, run_at=now, created_at=now,
    )  # fmt: skip


def run_all(slots: Slots) -> list[Run]:
    runs = []
    while (job := slots.take_next(abandoned=0)) is not None:
        runs.append(Run(job, slots.monotonic()))
        slots.running.add(runs[-1])
    return runs


def test_first_claim_fills_each_slot_once() -> None:
    slots = Slots(10, Clock())
    assert slots.count_claimable(abandoned=0) == 10
    assert slots.count_claimable(abandoned=3) == 7
    slots.ready.extend(a_job() for _ in range(10))
    assert len(run_all(slots)) == 10
    assert slots.count_claimable(abandoned=0) == 0


def test_only_short_jobs_are_claimed_ahead() -> None:
    clock = Clock()
    slots = Slots(10, clock)
    for ended, ahead in ((17, 8), (100, 20), (0, 0)):
        for _ in range(ended):
            slots.end(Run(a_job(), clock.now))
        clock.now += 2 * AHEAD
        slots.estimate_ahead()
        assert slots.ahead == ahead
        assert slots.count_claimable(abandoned=0) == 10 + ahead


def test_long_jobs_that_end_together_do_not_count_as_short() -> None:
    clock = Clock()
    slots = Slots(10, clock)
    runs = [Run(a_job(), clock.now) for _ in range(10)]
    clock.now += 60
    slots.estimate_ahead()
    for run in runs:
        slots.end(run)
    clock.now += 2 * AHEAD
    slots.estimate_ahead()
    assert slots.ahead == 0


def test_jobs_claimed_ahead_without_a_slot_are_released() -> None:
    clock = Clock()
    slots = Slots(1, clock)
    waiting = a_job()
    slots.ready.extend([a_job(), waiting])
    run_all(slots)
    assert slots.take_stuck() == []
    clock.now += STUCK_AFTER + 0.1
    assert slots.take_stuck() == [waiting]
    assert not slots.ready


def test_nothing_is_claimed_while_enough_jobs_are_ready() -> None:
    slots = Slots(10, Clock())
    slots.ahead = 8
    slots.ready.extend(a_job() for _ in range(18))
    runs = run_all(slots)
    assert (len(runs), slots.count_claimable(abandoned=0)) == (10, 0)
    slots.end(runs[0])
    assert (len(run_all(slots)), slots.count_claimable(abandoned=0)) == (1, 0)  # for one job
    slots.end(runs[1])
    assert slots.count_claimable(abandoned=0) == 2


def test_ready_jobs_count_and_can_be_taken_out() -> None:
    slots = Slots(1, Clock())
    low, high = a_job(Queue.LOW), a_job(Queue.HIGH)
    slots.ready.extend([low, high])
    assert slots.has_low_job()
    assert slots.take_out(lambda job: job is low) == [low]
    assert not slots.has_low_job()
    assert list(slots.jobs()) == [high]
