"""Collect what is known about the jobs of a violation."""

import re
from pathlib import Path

from tests.crash.sql import SqlConnection

MOST = 8
MOST_LINES = 80
PROCESS = re.compile(r"process \d+")
JOB = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def gather(sql: SqlConnection, folder: Path, violations: list[str]) -> list[str]:
    """The store's word and the handlers' own about each of the first jobs named, and the last words of processes."""
    log = lines(folder / "log")
    written = lines(folder / "record") + log
    jobs = [
        "\n".join([f"--- job {job}", sql.history(job), *(line for line in written if job in line)])
        for job in named(JOB, violations)
    ]
    return jobs + [last_words(process, log) for process in named(PROCESS, violations)]


def named(what: re.Pattern[str], violations: list[str]) -> list[str]:
    found = dict.fromkeys(match[0] for violation in violations if (match := what.search(violation)))
    return list(found)[:MOST]


def last_words(process: str, log: list[str]) -> str:
    start = next((number for number, line in enumerate(log) if line.startswith(f"{process} ended by")), len(log))
    return "\n".join([f"--- {process}", *log[start : start + MOST_LINES]])


def lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []
