"""Run the workloads in rounds. Every contestant has a turn in each round, so that other load affects all of them."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.install import Installed, Missing, install
from benchmarks.results import OURS, Result
from benchmarks.server import BenchServer
from benchmarks.subjects import SUBJECTS, Role
from benchmarks.workload import Stage, Workload

Report = Callable[[str], None]


def run(
    workloads: Sequence[Workload], peers: Sequence[str], rounds: int, scale: float, report: Report
) -> tuple[list[Result], dict[str, Any]]:
    names = {name for workload in workloads for name in workload.contestants if takes_part(name, peers)}
    ready, missing = prepare([name for name in SUBJECTS if name in names], report)
    with BenchServer() as server:
        about = {"machine": machine(), "postgresql": server.read_settings(), "scale": scale, "rounds": rounds}
        stage = Stage(server, scale)
        results = [measure(workload, stage, ready, missing, rounds, report) for workload in workloads]
    return results, about | {"versions": {name: installed.version for name, installed in ready.items()}}


def takes_part(name: str, peers: Sequence[str]) -> bool:
    return name in peers or SUBJECTS[name].role is not Role.PEER


def prepare(names: Sequence[str], report: Report) -> tuple[dict[str, Installed], dict[str, str]]:
    ready: dict[str, Installed] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            ready[name] = install(SUBJECTS[name])
        except Missing as error:
            missing[name] = str(error)
            report(f"missing: {error}")
    return ready, missing


def measure(
    workload: Workload, stage: Stage, ready: dict[str, Installed], missing: dict[str, str], rounds: int, report: Report
) -> Result:
    names = [name for name in workload.contestants if name in ready]
    result = Result(workload, missing={name: missing[name] for name in workload.contestants if name in missing})
    for turn in range(min(rounds, workload.most_rounds)):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:  # the order changes with each round
            if name not in result.missing:
                take_turn(result, stage, ready[name], report)
    return result


def take_turn(result: Result, stage: Stage, installed: Installed, report: Report) -> None:
    name, started = installed.subject.name, time.monotonic()
    try:
        measured = result.workload.measure(stage, installed)
    except Exception as error:  # noqa: BLE001 - the other contestants keep their figures
        result.missing[name] = f"{type(error).__name__}: {error}"
        report(f"{result.workload.name:14} {name:14} failed: {error}")
        return
    result.rounds.append((name, measured))
    shown = "  ".join(f"{key} {value:,.1f}" for key, value in measured.items())
    report(f"{result.workload.name:14} {name:14} {shown}  ({time.monotonic() - started:.0f} s)")


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def failures(results: Sequence[Result]) -> list[str]:
    """Return the workloads in which Postino failed. A failed peer is only a line in the table."""
    return [f"{result.workload.name}: {result.missing[OURS]}" for result in results if OURS in result.missing]
