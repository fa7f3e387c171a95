"""`make crash`: run the sweeps over every crash point, then chaos on both stores, until there are enough kills."""

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
    "jobs": [
        "tests/crash/test_sweep.py",
        "tests/crash/requests",
        "tests/crash/test_freeze.py",
        "tests/crash/test_restore.py",
    ],
    "posts": ["tests/crash/publishing", "tests/restore", "--ignore", "tests/crash/publishing/test_chaos.py"],
}

R = TypeVar("R", bound=results.ResultsLike)


class Progress(Protocol):
    """The progress of a chaos run."""

    started_at: float

    @property
    def kills(self) -> int: ...
    @property
    def summary(self) -> str: ...


def main() -> int:
    options = parse_arguments()
    started_at = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    print(f"seed {options.seed}", flush=True)
    parts = [run_part(name, options.kills or KILLS[name], options.seed) for name in options.only or KILLS]
    seconds = round(time.monotonic() - started_at, 1)
    passed = not any(part.failed for part in parts)
    results_json: dict[str, Any] = {"seed": options.seed, "seconds": seconds, "passed": passed}
    results_json |= {"kills": sum(part.kills for part in parts)} | {part.name: part.as_json() for part in parts}
    (BUILD / "crash.json").write_text(json.dumps(results_json, indent=2) + "\n")
    print("\n".join(results.report(options.seed, parts, seconds)), flush=True)
    return 0 if passed else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash")
    parser.add_argument("--kills", type=int, help=f"kills of each part (default: {KILLS})")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="repeat the run with this seed")
    parser.add_argument("--only", choices=list(KILLS), action="append", help="run only this part")
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
    """Run a sweep and count its kills: those that a case reports, or one for each case."""
    results = BUILD / "crash-sweep.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--timeout=900", f"--junitxml={results}", *what]
    environment = os.environ | {"CRASH_EVERYTHING": "1", "CRASH_SEED": str(seed)}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    [suite] = ElementTree.parse(results).getroot().iter("testsuite")
    results.unlink()
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    kills = sum(count_kills(case) for case in suite.iter("testcase"))
    return {"kills": kills, "failed": failed, "skipped": int(suite.get("skipped", 0))}


def count_kills(case: ElementTree.Element) -> int:
    if any(case.iter("failure")) or any(case.iter("error")) or any(case.iter("skipped")):
        return 0
    results_json = [int(it.get("value", 0)) for it in case.iter("property") if it.get("name") == "kills"]
    return results_json[0] if results_json else 1


def run_jobs(store: str, kills: int, seed: int) -> results.Results:
    with create_place("jobs", store) as (folder, url), forker() as address:
        plan = Plan(url, folder, kills, seed)
        return delete_if_clean(
            folder, asyncio.run(chaos.cause_chaos(plan, address, make_progress_printer("jobs", store, kills)))
        )


def run_posts(store: str, kills: int, seed: int) -> published.Results:
    with create_place("posts", store) as (folder, url), forker() as address, Oracle(folder) as oracle:
        plan = Plan(url, folder, kills, seed)
        return delete_if_clean(
            folder,
            asyncio.run(publishing.cause_chaos(plan, address, oracle, make_progress_printer("posts", store, kills))),
        )


@contextmanager
def create_place(name: str, store: str) -> Iterator[tuple[Path, str]]:
    """Create an empty folder, also for what workers remember outside the database, and an empty database."""
    folder = BUILD / "crash" / name / store
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["POSTINO_STATE_DIR"] = str(folder / "machines" / "one")
    if store == "sqlite":
        yield folder, f"sqlite:///{folder}/postino.db"
        return
    with PostgresServer() as server, server.database() as url:
        yield folder, url


def delete_if_clean(folder: Path, outcome: R) -> R:
    """Delete the folder of a run without violations."""
    if not outcome.violations:
        shutil.rmtree(folder)
    return outcome


def make_progress_printer(name: str, store: str, kills: int) -> Callable[[Progress], None]:
    def tell(run: Progress) -> None:
        seconds = time.monotonic() - run.started_at
        print(f"{name} on {store}: {run.kills:,} of {kills:,} kills, {run.summary}, {seconds:.0f} s", flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main())
