"""Runs a network or handlers of your own with faults: killed workers, lost responses, outages, rate limits.

Everything happens in this process, in virtual time, and from seeds: the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from postino.app import App
from postino.engine.job_spec import JobSpec
from postino.errors import WrongUse
from postino.testing.faults_app import Subject, make_database
from postino.testing.faults_run import FaultRun, prepare_process, read_mark, run_script
from postino.testing.faults_script import FAULTS, FaultScript, draw_script
from postino.testing.faults_server import EmptyServer, SimulatedServer
from postino.testing.simulation.narration import collapse
from postino.testing.simulation.shrinking import Budget, Shrinking
from postino.values.content import Content
from postino.values.job import Job
from postino.values.provider import Provider

ACTS_OF_A_NETWORK = {"publish": 3.0, "schedule": 2.0}
ACTS_OF_AN_APP = {"enqueue": 3.0, "schedule": 2.0}
SHRINK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise: the seed of its run, its kind, such as `twice` or `lost`, and a sentence."""

    seed: str
    kind: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FaultReport:
    """What happened in all runs. `str(report)` tells the first violation as a story."""

    runs: int
    accepted: int  # posts, or jobs
    repeated: int  # runs of a handler after the first run of its job
    questions: int  # posts of which a person had to say what has become
    violations: tuple[Violation, ...]
    story: tuple[str, ...]  # of the first violation, with only those acts and faults that it needs

    @property
    def is_clean(self) -> bool:
        return not self.violations

    @property
    def duplicates(self) -> tuple[Violation, ...]:
        return tuple(it for it in self.violations if it.kind == "twice")

    @property
    def losses(self) -> tuple[Violation, ...]:
        return tuple(it for it in self.violations if it.kind in ("lost", "waiting for ever"))

    def __str__(self) -> str:
        figures = (
            f"{self.runs} runs, {self.accepted} accepted, {self.repeated} repeated runs of handlers,"
            f" {self.questions} questions to a person, {len(self.violations)} violations"
        )
        if self.is_clean:
            return figures
        lines = [f"seed {it.seed}: {it.sentence}" for it in self.violations]
        return "\n".join([figures, *lines, "", f"The story of seed {self.violations[0].seed}:", *self.story])


def make_content(number: int) -> Content:
    return Content(body=f"Post {number}")


def check_nothing(jobs: Sequence[Job]) -> Iterable[str]:
    return ()


def run_with_faults(
    subject: Callable[[], Provider] | App,
    server: Callable[[], SimulatedServer] | None = None,
    *,
    jobs: Sequence[JobSpec | Mapping[str, Any] | Sequence[Any]] = (),
    seeds: Iterable[int | str] = range(30),
    faults: Collection[str] = FAULTS,
    content: Callable[[int], Content] = make_content,
    reset: Callable[[], object] = lambda: None,
    check: Callable[[Sequence[Job]], Iterable[str]] = check_nothing,
    shrink_runs: int = 200,
) -> FaultReport:
    """Run a network, or the handlers of an app, once for each seed, and report what broke.

    `subject` is the class of a network, with a model of its `server`; or an app, with `jobs` for its handlers. Each run
    begins with calls of `reset` and `server`. `check` gets the accepted jobs at the end of each run and returns a
    sentence for each thing that is wrong. Shrinking the story of the first violation takes at most `shrink_runs` more
    runs. Raises WrongUse if an argument is missing or a fault is unknown.
    """
    check_arguments(subject, server, jobs, faults, content)
    is_app = isinstance(subject, App)
    draft = Subject(
        make_network=None if isinstance(subject, App) else subject,
        app=subject if isinstance(subject, App) else None,
        make_server=server or EmptyServer,
        jobs=[JobSpec.parse(job) for job in jobs],
        content=content,
        reset=reset,
        check=check,
    )
    with prepare_process():
        database, accounts = make_database(draft)
        ready = replace(draft, accounts=accounts)
        acts = ACTS_OF_AN_APP if is_app else ACTS_OF_A_NETWORK
        scripts = [draw_script(seed, faults, acts) for seed in seeds]
        runs = [summarize(run_script(ready, script, database)) for script in scripts]
        failed = next((script for script, run in zip(scripts, runs, strict=True) if run.violations), None)
        story = () if failed is None else tell_shortest(ready, failed, database, shrink_runs)
    return FaultReport(
        runs=len(runs),
        accepted=sum(it.accepted for it in runs),
        repeated=sum(it.repeated for it in runs),
        questions=sum(it.questions for it in runs),
        violations=tuple(violation for run in runs for violation in run.violations),
        story=story,
    )


def check_arguments(
    subject: object,
    server: object,
    jobs: Sequence[object],
    faults: Collection[str],
    content: Callable[[int], Content],
) -> None:
    for name in faults:
        if name not in FAULTS:
            raise WrongUse(f"faults: there is no fault {name!r}. Use some of: {', '.join(FAULTS)}.", field="faults")
    if isinstance(subject, App):
        if not jobs:
            raise WrongUse("jobs: give the jobs that the handlers of the app run.", field="jobs")
        return
    if not callable(subject):
        raise WrongUse("subject: give the class of a network, not an object: each process makes its own.", "subject")
    if server is None:
        raise WrongUse("server: give a model of the network's server.", field="server")
    if read_mark(content(7).body) != "post 7":
        raise WrongUse("content: the body of post 7 must contain “post 7”, so that the run recognises it.", "content")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a report keeps of one run."""

    accepted: int
    repeated: int
    questions: int
    violations: tuple[Violation, ...]


def summarize(run: FaultRun) -> RunSummary:
    return RunSummary(
        accepted=len(run.accepted),
        repeated=sum(run.handler_runs.values()) - len(run.handler_runs),
        questions=run.questions,
        violations=tuple(Violation(run.script.seed, it.partition(":")[0], it) for it in run.violations),
    )


def tell_shortest(subject: Subject, script: FaultScript, database: bytes, runs: int) -> tuple[str, ...]:
    """Return the shortest story that was found with the same violation."""
    shrinking = Shrinking(
        script,
        lambda smaller: run_script(subject, smaller, database),
        FaultRun.find_failure,
        Budget(runs, SHRINK_SECONDS),
    )
    shrinking.shrink()
    return tuple(collapse(shrinking.result.story))
