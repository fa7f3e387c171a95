"""Collect what is known about the jobs of a violation."""

import re
from pathlib import Path

from tests.crash.sql import SqlConnection

MOST = 8
MOST_LINES = 80
PROCESS = re.compile(r"process \d+")
JOB = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def gather(sql: SqlConnection, folder: Path, violations: list[str]) -> list[str]:
    """Return the stored history and the record of the first jobs of the violations, and the logs of their processes."""
    log = lines(folder / "log")
    records = lines(folder / "record") + log
    jobs = [
        "\n".join([f"--- job {job}", sql.describe_job(job), *(line for line in records if job in line)])
        for job in find_names(JOB, violations)
    ]
    return jobs + [read_log_tail(process, log) for process in find_names(PROCESS, violations)]


def find_names(what: re.Pattern[str], violations: list[str]) -> list[str]:
    names = dict.fromkeys(match[0] for violation in violations if (match := what.search(violation)))
    return list(names)[:MOST]


def read_log_tail(process: str, log: list[str]) -> str:
    start = next((number for number, line in enumerate(log) if line.startswith(f"{process} ended by")), len(log))
    return "\n".join([f"--- {process}", *log[start : start + MOST_LINES]])


def lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []
