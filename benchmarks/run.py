"""The run itself: rounds in which every contestant has its turn, so that what disturbs the machine disturbs all."""

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

Say = Callable[[str], None]


def run(
    workloads: Sequence[Workload], peers: Sequence[str], rounds: int, scale: float, say: Say
) -> tuple[list[Result], dict[str, Any]]:
    wanted = {name for workload in workloads for name in workload.contestants if takes_part(name, peers)}
    ready, missing = prepare([name for name in SUBJECTS if name in wanted], say)
    with BenchServer() as server:
        about = {"machine": machine(), "postgresql": server.read_settings(), "scale": scale, "rounds": rounds}
        stage = Stage(server, scale)
        results = [measure(workload, stage, ready, missing, rounds, say) for workload in workloads]
    return results, about | {"versions": {name: installed.version for name, installed in ready.items()}}


def takes_part(name: str, peers: Sequence[str]) -> bool:
    return name in peers or SUBJECTS[name].role is not Role.PEER


def prepare(names: Sequence[str], say: Say) -> tuple[dict[str, Installed], dict[str, str]]:
    ready: dict[str, Installed] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            ready[name] = install(SUBJECTS[name])
        except Missing as error:
            missing[name] = str(error)
            say(f"missing: {error}")
    return ready, missing


def measure(
    workload: Workload, stage: Stage, ready: dict[str, Installed], missing: dict[str, str], rounds: int, say: Say
) -> Result:
    names = [name for name in workload.contestants if name in ready]
    result = Result(workload, missing={name: missing[name] for name in workload.contestants if name in missing})
    for turn in range(min(rounds, workload.most_rounds)):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:  # nobody always comes after the same one
            if name not in result.missing:
                take_turn(result, stage, ready[name], say)
    return result


def take_turn(result: Result, stage: Stage, installed: Installed, say: Say) -> None:
    name, started = installed.subject.name, time.monotonic()
    try:
        measured = result.workload.measure(stage, installed)
    except Exception as error:  # noqa: BLE001 - the trouble of one must not cost the others their figures
        result.missing[name] = f"{type(error).__name__}: {error}"
        say(f"{result.workload.name:14} {name:14} failed: {error}")
        return
    result.rounds.append((name, measured))
    shown = "  ".join(f"{key} {value:,.1f}" for key, value in measured.items())
    say(f"{result.workload.name:14} {name:14} {shown}  ({time.monotonic() - started:.0f} s)")


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def failures(results: Sequence[Result]) -> list[str]:
    """What Postino itself could not do; a peer's trouble is a line in the table."""
    return [f"{result.workload.name}: {result.missing[OURS]}" for result in results if OURS in result.missing]
