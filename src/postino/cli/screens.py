"""What `postino up` shows while jobs run: a live table, or a line for each change."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from postino.cli import output, shapes
from postino.cli.session import Where
from postino.job import Job, State

COLUMNS = ("JOB", "WHAT_IT_IS", "STATE", "ATTEMPTS", "RUN_AT", "LAST_ERROR")


class Screen(Protocol):
    def begin(self, folder: Path, jobs: Sequence[Job]) -> None: ...
    def changed(self, job: Job) -> None: ...
    def summary(self, jobs: Sequence[Job]) -> None: ...
    def end(self) -> None: ...


class Lines:
    """Plain text in a pipe: when, which job, what it is now."""

    def __init__(self, where: Where) -> None:
        self.where = where

    def begin(self, folder: Path, jobs: Sequence[Job]) -> None:
        output.write(f"Postino is up on {folder}, with one worker. Example jobs: {len(jobs)}.")
        for job in jobs:
            self.changed(job)

    def changed(self, job: Job) -> None:
        told = [output.instant(datetime.now(UTC)), str(job.id), job.state.value.ljust(9), f"attempts={job.attempts}"]
        output.write("  ".join([*told, title(job).ljust(28), trouble(job) or ""]).rstrip())

    def summary(self, jobs: Sequence[Job]) -> None:
        output.write(f"All ended: {counted(jobs)}. To look closer:")
        for command in commands(jobs, self.where):
            output.write(f"  {command}")

    def end(self) -> None:
        pass


class JsonLines:
    """One JSON object per line, for programs."""

    def begin(self, folder: Path, jobs: Sequence[Job]) -> None:
        self.write({"event": "up", "data_dir": str(folder)})
        for job in jobs:
            self.write({"event": "followed", "title": title(job), "job": shapes.of_job(job)})

    def changed(self, job: Job) -> None:
        self.write({"event": "changed", "title": title(job), "job": shapes.of_job(job)})

    def summary(self, jobs: Sequence[Job]) -> None:
        self.write({"event": "ended", "jobs": Counter(job.state.value for job in jobs)})

    def end(self) -> None:
        pass

    def write(self, line: dict[str, Any]) -> None:
        output.write(json.dumps(line))


class LiveTable:
    """In a terminal: every job is a row that changes. Once all have ended it stands still, so that one can copy."""

    def __init__(self, where: Where, *, stays: bool) -> None:
        from rich.live import Live

        self.where = where
        self.stays = stays
        self.jobs: dict[str, Job] = {}
        self.live: Live | None = None

    def begin(self, folder: Path, jobs: Sequence[Job]) -> None:
        output.write(f"Postino is up on {folder}, with one worker.")
        for job in jobs:
            self.changed(job)

    def changed(self, job: Job) -> None:
        from rich.live import Live

        self.jobs[str(job.id)] = job
        if self.live is None:
            self.live = Live(get_renderable=self.drawn, refresh_per_second=5)
            self.live.start()

    def summary(self, jobs: Sequence[Job]) -> None:
        """Not part of the live table, which would break long commands into lines."""
        self.end()
        output.write(f"All ended: {counted(jobs)}. Try next{', in another terminal' if self.stays else ''}:")
        for command in commands(jobs, self.where):
            output.write(f"  {command}")
        if self.stays:
            output.write("Ctrl-C ends this; the jobs stay.")

    def end(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None

    def drawn(self) -> Any:
        rows = [
            (str(number), title(job), job.state.value, str(job.attempts), wait(job), trouble(job))
            for number, job in enumerate(self.jobs.values(), 1)
        ]
        return output.drawn(COLUMNS, rows)


def title(job: Job) -> str:
    payload = shapes.payload(job.payload)
    return output.shortened(str(payload.get("title", job.type)) if isinstance(payload, dict) else job.type)


def trouble(job: Job) -> str | None:
    """The last error, unless it is history."""
    return None if job.last_error is None or job.state is State.COMPLETED else output.shortened(job.last_error)


def wait(job: Job) -> str:
    if job.state is State.UNCERTAIN:
        return "when told"
    if job.state is not State.PENDING or job.run_at is None:
        return ""
    seconds = (job.run_at - datetime.now(UTC)).total_seconds()
    return f"in {seconds:.1f} s" if seconds > 0 else "now"


def counted(jobs: Iterable[Job]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(job.state.value for job in jobs).items())


def commands(jobs: Sequence[Job], where: Where) -> list[str]:
    """The job worth a closer look is one that did not simply work."""
    shown = next((job for job in jobs if job.state is State.FAILED), jobs[0])
    return [where.command(words) for words in ("jobs list", "dead list", f"jobs show {shown.id}")]
