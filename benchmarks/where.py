"""Profile Postino: `python -m benchmarks.where drain`, or `enqueue-16`, or `enqueue-100`.

Shares of a processor for client and server, the server's statements, and the client's functions by a sampling profiler.
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.install import ROOT, install
from benchmarks.server import BenchServer
from benchmarks.subjects import SUBJECTS, Role, Subject
from benchmarks.trial import Trial

SPY = Subject("py-spy", "py-spy", Role.PEER, pip=("py-spy",))
JOBS, CONCURRENCY = 100_000, 200
SECONDS, MORE = 4, 3
STATEMENTS = """
SELECT calls, total_exec_time, rows, wal_bytes, left(regexp_replace(query, '\\s+', ' ', 'g'), 70)
FROM pg_stat_statements WHERE calls > 3 ORDER BY total_exec_time DESC LIMIT 8
"""


def watch(name: str) -> None:
    spy = str(Path(install(SPY).command[0]).with_name("py-spy"))
    with (
        BenchServer(shared_preload_libraries="pg_stat_statements") as server,
        Trial(server, install(SUBJECTS["postino"])) as trial,
        psycopg.connect(trial.url, autocommit=True) as connection,
    ):
        connection.execute("CREATE EXTENSION pg_stat_statements")
        process = start_process(trial, name)
        try:
            connection.execute("SELECT pg_stat_statements_reset()")
            samples = trial.folder / "samples"
            command = [spy, "record", "-p", str(process.pid), "-d", str(SECONDS - 1), "-r", "200", "-f", "raw"]
            profiler = subprocess.Popen(
                [*command, "--nonblocking", "-o", str(samples)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            print_shares(process.pid, server.pid)
            print_statements(connection)
            profiler.wait(60)
            print_functions(samples.read_text())
        finally:
            process.kill()
            process.communicate()


def start_process(trial: Trial, name: str) -> "subprocess.Popen[str]":
    """Start the process to profile; it works for some seconds."""
    if name == "drain":
        trial.ask("bulk", count=JOBS)
        trial.start(CONCURRENCY)
        trial.marks.wait_for(1, 30, trial.check)
        return trial.workers[0]
    callers = int(name.removeprefix("enqueue-"))
    options = json.dumps({"callers": callers, "seconds": SECONDS + MORE, "most": 10_000_000})
    command = [*trial.installed.command, "single", options]
    process = subprocess.Popen(command, env=trial.environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    return process


def print_shares(client: int, server: int) -> None:
    before, began = (read_cpu_seconds(client), read_cpu_seconds(server)), time.monotonic()
    time.sleep(SECONDS)
    taken = time.monotonic() - began
    for name, pid, spent_before in zip(("client", "server"), (client, server), before, strict=True):
        print(f"{name}: {(read_cpu_seconds(pid) - spent_before) / taken:.0%} of a processor")


def read_cpu_seconds(pid: int) -> float:
    process = psutil.Process(pid)
    times = [member.cpu_times() for member in [process, *process.children(recursive=True)]]
    return sum(time.user + time.system for time in times)


def print_statements(connection: psycopg.Connection[Any]) -> None:
    print("\n   calls        ms     rows  WAL/row  statement")
    for calls, milliseconds, rows, wal, text in connection.execute(STATEMENTS).fetchall():
        print(f"{calls:8} {milliseconds:9,.0f} {rows:8} {wal / max(1, rows):8.0f}  {text}")


def print_functions(samples: str) -> None:
    alone: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for line in samples.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [re.sub(r":\d+\)$", ")", frame) for frame in stack.split(";")]
        alone[frames[-1]] += int(count)
        within.update(dict.fromkeys(frames, int(count)))
    everything = max(1, alone.total())
    for title, counted in (("itself", alone), ("with what it calls", within)):
        print(f"\nfunctions of the client, each {title}")
        for frame, hits in counted.most_common(25):
            print(f"{hits / everything:7.1%}  {frame}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("drain", "enqueue-16", "enqueue-100"):
        raise SystemExit(__doc__)
    watch(sys.argv[1])
