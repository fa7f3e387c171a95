"""What `postino up` shows while jobs run: a live table, or a line for each change."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from postino.cli import output, shapes
from postino.job import Job, State


class Screen(Protocol):
    def begin(self, folder: Path, jobs: Sequence[Job]) -> None: ...
    def changed(self, job: Job) -> None: ...
    def summary(self, jobs: Sequence[Job]) -> None: ...
    def end(self) -> None: ...


class Lines:
    """Plain text in a pipe: when, which job, what it is now."""

    def __init__(self, options: str) -> None:
        self.options = options

    def begin(self, folder: Path, jobs: Sequence[Job]) -> None:
        output.write(f"Postino is up on {folder}, with one worker. Example jobs: {len(jobs)}.")
        for job in jobs:
            self.changed(job)

    def changed(self, job: Job) -> None:
        told = [output.instant(datetime.now(UTC)), str(job.id), job.state.value.ljust(9), f"attempts={job.attempts}"]
        output.write("  ".join([*told, title(job).ljust(28), trouble(job) or ""]).rstrip())

    def summary(self, jobs: Sequence[Job]) -> None:
        output.write(f"All ended: {counted(jobs)}. To look closer:")
        for command in commands(jobs, self.options):
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
    """In a terminal: every job is a row that changes."""

    def __init__(self, options: str, *, stays: bool) -> None:
        from rich.live import Live

        self.options = options
        self.stays = stays
        self.jobs: dict[str, Job] = {}
        self.said: list[str] = []
        self.heading = ""
        self.live = Live(get_renderable=self.drawn, refresh_per_second=5)

    def begin(self, folder: Path, jobs: Sequence[Job]) -> None:
        self.heading = f"Postino is up on {folder}, with one worker."
        for job in jobs:
            self.changed(job)
        self.live.start()

    def changed(self, job: Job) -> None:
        self.jobs[str(job.id)] = job

    def summary(self, jobs: Sequence[Job]) -> None:
        self.said = [f"All ended: {counted(jobs)}. Try next, here or in another terminal:"]
        self.said += [f"  {command}" for command in commands(jobs, self.options)]
        if self.stays:
            self.said.append("Ctrl-C ends this; the jobs stay.")

    def end(self) -> None:
        self.live.stop()

    def drawn(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("JOB", "WHAT IT IS", "STATE", "TRIES", "NEXT RUN", "LAST ERROR", box=SIMPLE_HEAD, pad_edge=False)
        for number, job in enumerate(self.jobs.values(), 1):
            cells = (str(number), title(job), job.state.value, str(job.attempts), wait(job), trouble(job) or "")
            table.add_row(*(output.styled(cell) for cell in cells))
        return Group(Text(self.heading, style="bold"), table, *(Text(line) for line in self.said))


def title(job: Job) -> str:
    payload = shapes.payload(job.payload)
    return output.shortened(str(payload.get("title", job.type)) if isinstance(payload, dict) else job.type)


def trouble(job: Job) -> str | None:
    """The last error, unless it is history."""
    return None if job.last_error is None or job.state is State.COMPLETED else output.shortened(job.last_error)


def wait(job: Job) -> str:
    if job.state is State.UNCERTAIN:
        return "a person's word"
    if job.state is not State.PENDING or job.run_at is None:
        return ""
    seconds = (job.run_at - datetime.now(UTC)).total_seconds()
    return f"in {seconds:.1f} s" if seconds > 0 else "now"


def counted(jobs: Iterable[Job]) -> str:
    return ", ".join(f"{count} {state}" for state, count in Counter(job.state.value for job in jobs).items())


def commands(jobs: Sequence[Job], options: str) -> list[str]:
    """The job worth a closer look is one that did not simply work."""
    shown = next((job for job in jobs if job.state is State.FAILED), jobs[0])
    return [f"postino {words}{options}" for words in ("jobs list", "dead list", f"jobs show {shown.id}")]
