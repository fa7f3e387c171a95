"""The snap processing example works as its README says, with real workers on PostgreSQL, one of them killed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

ROOT = Path(__file__).parents[2]
README = ROOT / "examples" / "snap_processing" / "README.md"
BIN = Path(sys.executable).parent
WORKER = [sys.executable, "-m", "postino", "worker", "--app", "examples.snap_processing.app:app"]
QUICK = {"POSTINO_WORKER_LEASE": "1.5", "POSTINO_WORKER_HEARTBEAT": "0.3", "POSTINO_WORKER_POLL": "0.1"}
PATIENCE = 30.0

# What a README command stands for, where it is not simply run.
NOT_RUN = {
    "make setup": "tests/test_docs.py checks that the target exists; these tests run in what it makes",
    "createdb snaps": "the fixture postgres_url makes the database",
    "export POSTINO_DATABASE_URL=postgresql:///snaps": "the fixture's address is in the environment",
}
ENDLESS = ".venv/bin/postino worker --app examples.snap_processing.app:app"


@pytest.fixture
def environment(postgres_url: str, tmp_path: Path) -> dict[str, str]:
    return (
        os.environ
        | QUICK
        | {
            "POSTINO_DATABASE_URL": postgres_url,
            "POSTINO_DATA_DIR": str(tmp_path),
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }
    )


@contextmanager
def worker(environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(WORKER, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        assert process.wait(PATIENCE) in (0, -signal.SIGKILL), log.read_text()


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def words(command: str) -> list[str]:
    return [word.replace(".venv/bin", str(BIN)) for word in shlex.split(command)]


def jobs(url: str) -> dict[str, dict[str, Any]]:
    """Return the rows of the view by file name."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        result = connection.execute(
            "SELECT snap.file, snap.starts, snap.processed_at, job.*"
            " FROM snap JOIN snap_processing_job AS job ON job.id = snap.job_id"
        ).fetchall()
    return {row["file"]: row for row in result}


def wait_for(url: str, enough: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
    end = time.monotonic() + PATIENCE
    while not enough(result := jobs(url)):
        assert time.monotonic() < end, result
        time.sleep(0.1)
    return result


def enqueue(environment: dict[str, str], *files: str) -> str:
    return run([sys.executable, "-m", "examples.snap_processing.enqueue", *files], environment)


@pytest.fixture
def ready(environment: dict[str, str], postgres_url: str) -> str:
    run([sys.executable, "-m", "postino", "migrate"], environment)
    return postgres_url


def test_readme_commands_work(environment: dict[str, str], tmp_path: Path) -> None:
    commands = re.findall(r"^\$ (.+)$", README.read_text(), re.MULTILINE)
    assert commands.count(ENDLESS) == 1
    assert set(NOT_RUN) < set(commands)
    url = environment["POSTINO_DATABASE_URL"]
    before, after = commands[: commands.index(ENDLESS)], commands[commands.index(ENDLESS) + 1 :]
    for command in before:
        if command not in NOT_RUN:
            run(words(command), environment)
    with worker(environment, tmp_path / "log"):
        result = wait_for(url, lambda result: all(row["status"] in ("DONE", "FAILED") for row in result.values()))
        printed = [run(words(command), environment) for command in after]
    with psycopg.connect(url) as connection:
        for query in re.findall(r"^```sql\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL):
            assert connection.execute(query).fetchall()

    assert {file: row["status"] for file, row in result.items()} == {
        "beach.jpg": "DONE", "harbour.png": "DONE", "dark_alley.jpg": "DONE", "notes.txt": "FAILED",
    }  # fmt: skip
    retried, rejected = result["dark_alley.jpg"], result["notes.txt"]
    assert (retried["attempt_count"], retried["starts"]) == (2, 2)
    assert retried["last_error"] == "OSError: The storage did not return dark_alley.jpg."
    assert (rejected["attempt_count"], rejected["starts"]) == (1, 0)
    assert rejected["last_error"] == "notes.txt is not a picture."
    assert all(row["processed_at"] for file, row in result.items() if file != "notes.txt")
    assert all(row["next_retry_at"] is None and row["claimed_by"] and row["locked_at"] for row in result.values())
    assert all(any(file in text for text in printed) for file in result)


def test_failed_snap_waits_for_its_backoff(environment: dict[str, str], ready: str, tmp_path: Path) -> None:
    enqueue(environment, "dark.jpg")
    with worker(environment, tmp_path / "log"):
        snap = wait_for(ready, lambda value: value["dark.jpg"]["last_error"] is not None)["dark.jpg"]
    assert (snap["status"], snap["claimed_by"], snap["locked_at"]) == ("PENDING", None, None)
    with psycopg.connect(ready) as connection:
        attempt = connection.execute("SELECT ended_at, error_class, trace FROM postino.attempts").fetchone()
    assert attempt is not None
    ended_at, error_class, trace = attempt
    assert 10 <= (snap["next_retry_at"] - ended_at).total_seconds() <= 12.1  # 10 s and at most 20 % more
    assert error_class == "OSError"
    assert "examples/snap_processing/app.py" in trace


def test_row_and_job_are_written_together_or_not_at_all(environment: dict[str, str], ready: str) -> None:
    enqueue(environment, "beach.jpg")
    program = (
        "import psycopg\n"
        "from examples.snap_processing.app import Snap, app\n"
        "from examples.snap_processing.enqueue import enqueue_snaps\n"
        "with psycopg.connect(app.config.database_url) as connection:\n"
        "    enqueue_snaps(connection, [Snap('lost.jpg')])\n"
        "    connection.rollback()\n"
    )
    run([sys.executable, "-c", program], environment)
    assert list(jobs(ready)) == ["beach.jpg"]
    with psycopg.connect(ready) as connection:
        count = connection.execute("SELECT count(*) FROM postino.all_jobs").fetchone()
    assert count == (1,)


def test_same_file_twice_is_one_job(environment: dict[str, str], ready: str) -> None:
    assert enqueue(environment, "beach.jpg") == enqueue(environment, "beach.jpg")
    assert len(jobs(ready)) == 1


@pytest.mark.crash
def test_second_worker_finishes_jobs_of_a_killed_one(environment: dict[str, str], ready: str, tmp_path: Path) -> None:
    program = (
        "import psycopg\n"
        "from examples.snap_processing.app import Snap, app\n"
        "from examples.snap_processing.enqueue import main, enqueue_snaps\n"
        "main(['quick.jpg'])\n"
        "with psycopg.connect(app.config.database_url) as connection:\n"
        "    enqueue_snaps(connection, [Snap('large.jpg', seconds=2)])\n"
    )
    run([sys.executable, "-c", program], environment)
    with worker(environment, tmp_path / "first") as first:
        begun = wait_for(
            ready, lambda result: result["large.jpg"]["starts"] == 1 and result["quick.jpg"]["status"] == "DONE"
        )
        first.kill()
        first.wait(PATIENCE)
    assert begun["large.jpg"]["status"] == "PROCESSING"

    with worker(environment, tmp_path / "second"):
        result = wait_for(ready, lambda result: result["large.jpg"]["status"] == "DONE")
    large = result["large.jpg"]
    assert large["starts"] == 2
    assert large["processed_at"] is not None
    assert large["claimed_by"] != begun["large.jpg"]["claimed_by"]
    assert result["quick.jpg"]["starts"] == 1
    with psycopg.connect(ready) as connection:
        history = connection.execute(
            "SELECT outcome FROM postino.all_attempts WHERE job_id = %s ORDER BY started_at", (large["id"],)
        ).fetchall()
    assert [outcome for (outcome,) in history] == ["rescued", "completed"]


@pytest.mark.parametrize("program", ["enqueue", "show"])
def test_missing_table_or_database_is_one_error_line(program: str, environment: dict[str, str]) -> None:
    first = {"enqueue": "postino migrate", "show": "snap_processing.enqueue"}[program]
    for url, item in (
        ("sqlite:////tmp/nowhere.db", "export POSTINO_DATABASE_URL=postgresql:///snaps"),
        ("postgresql://127.0.0.1:1/snaps", "Cannot connect to the database"),
        (environment["POSTINO_DATABASE_URL"], first),
    ):
        done = subprocess.run(
            [sys.executable, "-m", f"examples.snap_processing.{program}"],
            cwd=ROOT, env=environment | {"POSTINO_DATABASE_URL": url}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, "")
        assert item in done.stderr
        assert done.stderr.count("\n") == 1


def test_snap_that_never_ran_is_shown_as_due(environment: dict[str, str], ready: str) -> None:
    enqueue(environment, "beach.jpg")
    shown = run([sys.executable, "-m", "examples.snap_processing.show"], environment)
    assert "due at" in shown
    assert "again" not in shown
