"""Compare the handlers' own record with the store at the end of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from postino import State
from postino.stores.store import Store
from tests.crash.sql import SqlConnection, instant, to_uuid

FINISHED = "SELECT id, state, finished_at, token FROM postino.finished_jobs WHERE NOT superseded"
UNFINISHED = "SELECT id, state FROM postino.jobs"
LATEST = "SELECT job_id, max(at) FROM postino.events WHERE job_id IS NOT NULL GROUP BY job_id"
COMPLETED_EVENTS = "SELECT job_id, count(*) FROM postino.events WHERE type = 'job.completed' GROUP BY job_id"
RESCUES = "SELECT count(*) FROM postino.events WHERE type = 'job.rescued'"
Claim = tuple[UUID, UUID]


@dataclass(frozen=True)
class Runs:
    """The runs that the handlers recorded."""

    starts: list[tuple[Claim, datetime]]
    ends: set[Claim]
    children: set[UUID]


@dataclass(frozen=True)
class End:
    state: State
    at: datetime
    token: UUID | None  # of the claim that ended it; None: a person did


@dataclass(frozen=True)
class Verdict:
    """How the jobs ended, and the violations; each line names a job."""

    states: Counter[State]
    lost: list[str]
    again: list[str]
    wrong: list[str]
    rescues: int


def read_record(folder: Path) -> Runs:
    runs = Runs([], set(), set())
    path = folder / "record"
    for line in path.read_text().splitlines() if path.exists() else []:
        match line.split():
            case ["start", job, token, at, _]:
                started_at = datetime.fromtimestamp(int(at) / 1e9, UTC)
                runs.starts.append(((UUID(job), UUID(token)), started_at))
            case ["end", job, token, _, _]:
                runs.ends.add((UUID(job), UUID(token)))
            case ["child", job]:
                runs.children.add(UUID(job))
    return runs


async def judge(sql: SqlConnection, store: Store, runs: Runs, ends: Mapping[UUID, frozenset[State]]) -> Verdict:
    expected = {child: frozenset({State.COMPLETED}) for child in runs.children} | dict(ends)
    rows = sql.ask(FINISHED)
    latest = {to_uuid(job): instant(at) for job, at in sql.ask(LATEST)}
    finished = {to_uuid(job): make_end(state, at, token, latest[to_uuid(job)]) for job, state, at, token in rows}
    unfinished = {to_uuid(job): state for job, state in sql.ask(UNFINISHED)}
    wrong = [f"{job} is {state} and was never ended" for job, state in unfinished.items()]
    times = Counter(to_uuid(job) for job, *_ in rows)
    wrong += [f"{job} has ended twice" for job in times if times[job] > 1]
    wrong += find_wrong_ends(finished, expected)
    events = {to_uuid(job): count for job, count in sql.ask(COMPLETED_EVENTS)}
    wrong += find_wrong_counts("events", events, finished)
    wrong += find_wrong_counts("history", await count_completions(store, finished), finished)
    wrong += find_ends_without_run(finished, runs)
    wrong += [f"{job} was started twice with one claim" for job in find_repeated_claims(runs)]
    wrong += await list_unreachable(store)
    return Verdict(
        states=Counter(end.state for end in finished.values()),
        lost=[
            f"{job} was accepted, and is not there" for job in expected if job not in finished and job not in unfinished
        ],
        again=list(find_late_starts(finished, runs)),
        wrong=wrong,
        rescues=sql.ask(RESCUES)[0][0],
    )


async def list_unreachable(store: Store) -> list[str]:
    """Return a violation for each job that no claim would ever find."""
    return [f"{job.id} is out of reach of every claim" for job in await store.unreachable_jobs()]


def make_end(state: str, at: Any, token: Any, latest: datetime) -> End:
    """Return how a job ended, not before its latest event: the time of PostgreSQL is the start of the transaction,
    which may have waited for the job."""
    return End(State(state), max(instant(at), latest), token and to_uuid(token))


def find_wrong_ends(finished: Mapping[UUID, End], expected: Mapping[UUID, frozenset[State]]) -> Iterator[str]:
    for job, states in expected.items():
        if job in finished and finished[job].state not in states:
            yield f"{job} ended {finished[job].state} instead of {' or '.join(sorted(states))}"


async def count_completions(store: Store, finished: Mapping[UUID, End]) -> dict[UUID, int]:
    """Count how often each job completed, by its attempts."""
    times: dict[UUID, int] = {}
    for job in finished:
        outcomes = [attempt.outcome for attempt in await store.attempts(job)]
        times[job] = outcomes.count("completed")
    return times


def find_wrong_counts(where: str, times: Mapping[UUID, int], finished: Mapping[UUID, End]) -> Iterator[str]:
    for job in times.keys() | finished.keys():
        once = int(job in finished and finished[job].state is State.COMPLETED)
        if times.get(job, 0) != once:
            yield f"{job} completed {times.get(job, 0)} times in its {where}, not {once}"


def find_ends_without_run(finished: Mapping[UUID, End], runs: Runs) -> Iterator[str]:
    for job, end in finished.items():
        if end.state is State.COMPLETED and end.token and (job, end.token) not in runs.ends:
            yield f"{job} completed, and its handler never ended"


def find_repeated_claims(runs: Runs) -> Iterator[UUID]:
    for (job, _), times in Counter(claim for claim, _ in runs.starts).items():
        if times > 1:
            yield job


def find_late_starts(finished: Mapping[UUID, End], runs: Runs) -> Iterator[str]:
    """Yield the runs that started after the end of their job; a frozen run that goes on had started before."""
    for (job, token), at in runs.starts:
        end = finished.get(job)
        if end is not None and at > end.at and token != end.token:
            yield f"{job} {end.state} at {end.at}, and was started at {at} with claim {token}"
