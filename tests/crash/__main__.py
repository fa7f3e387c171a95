"""`make crash`: the sweeps over every crash point, then chaos on both stores, until there were enough kills."""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar
from xml.etree import ElementTree

from tests.crash import chaos, results
from tests.crash.chaos import Plan
from tests.crash.publishing import chaos as publishing
from tests.crash.publishing import results as published
from tests.crash.publishing.oracle import Oracle
from tests.crash.workers import forker
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
STORES = ("sqlite", "postgres")
KILLS = {"jobs": 1000, "posts": 2000}
FEWEST = 100  # kills in chaos on each store, whatever the sweep had
SWEPT = {
    "jobs": ["tests/crash/test_sweep.py", "tests/crash/requests", "tests/crash/test_freeze.py"],
    "posts": ["tests/crash/publishing", "--ignore", "tests/crash/publishing/test_chaos.py"],
}

R = TypeVar("R", bound=results.ResultsLike)


class Progress(Protocol):
    """A chaos run, as far as it has come."""

    started_at: float

    @property
    def kills(self) -> int: ...
    @property
    def told(self) -> str: ...


def main() -> int:
    wanted = arguments()
    started_at = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    print(f"seed {wanted.seed}", flush=True)
    parts = [run_part(name, wanted.kills or KILLS[name], wanted.seed) for name in wanted.only or KILLS]
    seconds = round(time.monotonic() - started_at, 1)
    passed = not any(part.failed for part in parts)
    told: dict[str, Any] = {"seed": wanted.seed, "seconds": seconds, "passed": passed}
    told |= {"kills": sum(part.kills for part in parts)} | {part.name: part.as_json() for part in parts}
    (BUILD / "crash.json").write_text(json.dumps(told, indent=2) + "\n")
    print("\n".join(results.report(wanted.seed, parts, seconds)), flush=True)
    return 0 if passed else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash")
    parser.add_argument("--kills", type=int, help=f"how many of each part; ordinarily {KILLS}")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same fates again")
    parser.add_argument("--only", choices=list(KILLS), action="append", help="one part alone")
    return parser.parse_args()


def run_part(name: str, kills: int, seed: int) -> results.Part:
    sweep = run_sweep(SWEPT[name], seed)
    each = max(FEWEST, -(-(kills - sweep["kills"]) // len(STORES)))
    if name == "jobs":
        jobs = {store: run_jobs(store, each, seed) for store in STORES}
        return results.Part(name=name, sweep=sweep, chaos=jobs, rows=results.rows(jobs))
    posts = {store: run_posts(store, each, seed) for store in STORES}
    return results.Part(name=name, sweep=sweep, chaos=posts, rows=published.rows(posts))


def run_sweep(what: list[str], seed: int) -> dict[str, int]:
    """Each case says how many it killed, or killed one at least."""
    results = BUILD / "crash-sweep.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--timeout=900", f"--junitxml={results}", *what]
    environment = os.environ | {"CRASH_EVERYTHING": "1", "CRASH_SEED": str(seed)}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    [suite] = ElementTree.parse(results).getroot().iter("testsuite")
    results.unlink()
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    kills = sum(kills_in(case) for case in suite.iter("testcase"))
    return {"kills": kills, "failed": failed, "skipped": int(suite.get("skipped", 0))}


def kills_in(case: ElementTree.Element) -> int:
    if any(case.iter("failure")) or any(case.iter("error")) or any(case.iter("skipped")):
        return 0
    told = [int(it.get("value", 0)) for it in case.iter("property") if it.get("name") == "kills"]
    return told[0] if told else 1


def run_jobs(store: str, kills: int, seed: int) -> results.Results:
    with place("jobs", store) as (folder, url), forker() as address:
        plan = Plan(url, folder, kills, seed)
        return tidied(folder, asyncio.run(chaos.cause_chaos(plan, address, telling("jobs", store, kills))))


def run_posts(store: str, kills: int, seed: int) -> published.Results:
    with place("posts", store) as (folder, url), forker() as address, Oracle(folder) as oracle:
        plan = Plan(url, folder, kills, seed)
        return tidied(
            folder, asyncio.run(publishing.cause_chaos(plan, address, oracle, telling("posts", store, kills)))
        )


@contextmanager
def place(name: str, store: str) -> Iterator[tuple[Path, str]]:
    """An empty folder and an empty database."""
    folder = BUILD / "crash" / name / store
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if store == "sqlite":
        yield folder, f"sqlite:///{folder}/postino.db"
        return
    with PostgresServer() as server, server.database() as url:
        yield folder, url


def tidied(folder: Path, reckoned: R) -> R:
    """What went well leaves nothing behind."""
    if not reckoned.violations:
        shutil.rmtree(folder)
    return reckoned


def telling(name: str, store: str, kills: int) -> Callable[[Progress], None]:
    def tell(run: Progress) -> None:
        seconds = time.monotonic() - run.started_at
        print(f"{name} on {store}: {run.kills:,} of {kills:,} kills, {run.told}, {seconds:.0f} s", flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main())
