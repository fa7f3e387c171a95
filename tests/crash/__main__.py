"""`make crash`: the sweep over every crash point, then chaos on both stores, until there were enough kills."""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.crash.chaos import Chaos, Plan, cause_chaos
from tests.crash.figures import Figures, report
from tests.crash.workers import forker
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
STORES = ("sqlite", "postgres")


def main() -> int:
    wanted = arguments()
    started_at = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    print(f"seed {wanted.seed}", flush=True)
    sweep = run_sweep()
    each = -(-max(wanted.kills - sweep["kills"], len(STORES)) // len(STORES))
    runs = {store: run_chaos(store, each, wanted.seed) for store in STORES}
    lines, failed = report(wanted.seed, sweep, runs, time.monotonic() - started_at)
    told: dict[str, Any] = {"seed": wanted.seed, "seconds": round(time.monotonic() - started_at, 1), "sweep": sweep}
    told |= {"kills": sweep["kills"] + sum(figures.kills for figures in runs.values()), "passed": not failed}
    told["chaos"] = {store: figures.as_json() for store, figures in runs.items()}
    (BUILD / "crash.json").write_text(json.dumps(told, indent=2) + "\n")
    print("\n".join(lines), flush=True)
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash")
    parser.add_argument("--kills", type=int, default=2000, help="how many, over all")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same jobs and fates again")
    return parser.parse_args()


def run_sweep() -> dict[str, int]:
    """Each case kills one process at least."""
    results = BUILD / "crash-sweep.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", f"--junitxml={results}"]
    subprocess.run([*command, "tests/crash/test_sweep.py", "tests/crash/test_freeze.py"], cwd=ROOT, check=False)
    [suite] = ElementTree.parse(results).getroot().iter("testsuite")
    results.unlink()
    cases, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return {"kills": cases - skipped - failed, "failed": failed, "skipped": skipped}


def run_chaos(store: str, kills: int, seed: int) -> Figures:
    folder = BUILD / "crash" / store
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with forker() as address, database(store, folder) as url:
        figures = asyncio.run(cause_chaos(Plan(url, folder, kills, seed), address, telling(store, kills)))
    if not figures.violations:
        shutil.rmtree(folder)
    return figures


@contextmanager
def database(store: str, folder: Path) -> Iterator[str]:
    if store == "sqlite":
        yield f"sqlite:///{folder}/postino.db"
        return
    with PostgresServer() as server, server.database() as url:
        yield url


def telling(store: str, kills: int) -> Callable[[Chaos], None]:
    def tell(chaos: Chaos) -> None:
        seconds = time.monotonic() - chaos.started_at
        print(f"{store}: {chaos.kills:,} of {kills:,} kills, {chaos.told}, {seconds:.0f} s", flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main())
