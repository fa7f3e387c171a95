"""Run simulated lives: `python -m tests.simulator --seeds 1000`, or tell one as a story: `--seed 7`.

A life that fails is shrunk: its story is told again with only those acts and faults that the failure needs.

The lives are divided among processes. Each prints what it has found as JSON, and the first process adds it up.
"""

import argparse
import asyncio
import gc
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import structlog

from tests.simulator.planted_bugs import BUGS
from tests.simulator.planting import plant

REGRESSIONS = str(Path(__file__).parent / "regressions")
FIXED_HASHES = {"PYTHONHASHSEED": "0"}  # or sets of texts would have another order in each process


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many lives")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first life")
    parser.add_argument("--seed", help="tell the story of this life: a seed, or the file of a saved life")
    parser.add_argument("--brief", action="store_true", help="with --seed: tell only the shrunk story")
    parser.add_argument(
        "--save", nargs="?", const=REGRESSIONS, help="with --seed: save the shrunk life as a regression test"
    )
    parser.add_argument("--shrink", type=float, default=120.0, help="how many seconds shrinking may take")
    parser.add_argument("--runs", type=int, default=600, help="how many lives shrinking may run")
    parser.add_argument("--replay", action="store_true", help="replay all saved lives, and print failures as JSON")
    parser.add_argument("--after", type=int, default=0, help="run so many other lives before it")
    parser.add_argument(
        "--planted", nargs="?", const="all", help="plant this bug, or each in turn, and count the seeds"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-W", "ignore", "-m", "tests.simulator", *sys.argv[1:]],
            os.environ | FIXED_HASHES,
        )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(50), logger_factory=structlog.ReturnLoggerFactory()
    )
    if arguments.part:
        return run_part(arguments)
    if arguments.planted == "all":
        return asyncio.run(run_planted(arguments))
    if arguments.planted:
        plant(BUGS[arguments.planted])
    if arguments.replay:
        from tests.simulator.regressions import print_replay

        return print_replay()
    if arguments.seed is not None:
        from tests.simulator.telling import tell_life

        return tell_life(arguments)
    return asyncio.run(run_all(arguments))


def run_part(arguments: argparse.Namespace) -> int:
    """Run some lives and print the result as JSON."""
    if arguments.planted:
        plant(BUGS[arguments.planted])
    from tests.simulator.life import run_life

    failures: dict[int, str] = {}
    posts, operations, seconds, seed = 0, Counter[str](), 0.0, arguments.first
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        life = run_life(str(seed))
        if seed == arguments.first:
            gc.freeze()  # what the first life has imported and cached
        posts, operations = posts + len(life.oracle.promises), operations + life.operations
        seconds += life.loop.seconds
        if life.failures:
            failures[seed] = life.failures[0]
            if arguments.stop:
                break
    lives = seed - arguments.first + 1
    print(json.dumps({"lives": lives, "posts": posts, "seconds": seconds, "cpu": time.process_time(),
                      "failures": failures, "operations": operations}))  # fmt: skip
    return 0


async def start_part(first: int, seeds: int, *options: str) -> dict[str, Any]:
    """Run some lives in a process of their own."""
    command = ["-W", "ignore", "-m", "tests.simulator", "--part", "--first", str(first), "--seeds", str(seeds)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, *options, env=os.environ | FIXED_HASHES, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"A part of the simulation ended with status {process.returncode}.")
    result: dict[str, Any] = json.loads(output)
    return result


async def run_all(arguments: argparse.Namespace) -> int:
    """Divide the lives among the processes, and print the sum."""
    started, processes = time.monotonic(), min(arguments.processes, arguments.seeds)
    shares = [arguments.seeds // processes + (part < arguments.seeds % processes) for part in range(processes)]
    firsts = [arguments.first + sum(shares[:part]) for part in range(processes)]
    options = ["--stop"] if arguments.stop else []
    if arguments.planted:
        options += ["--planted", arguments.planted]
    parts = await asyncio.gather(
        *(start_part(first, share, *options) for first, share in zip(firsts, shares, strict=True))
    )
    failures = {int(seed): failure for part in parts for seed, failure in part["failures"].items()}
    for seed, failure in sorted(failures.items()):
        print(f"SEED={seed}  {failure.splitlines()[0]}")
    lives, posts, cpu = (sum(part[name] for part in parts) for name in ("lives", "posts", "cpu"))
    print(
        f"{lives} lives, {posts} posts, {time.monotonic() - started:.1f} s, {lives / cpu:.1f} lives a second and core:"
        f" {len(failures)} failures"
    )
    if failures:
        from tests.simulator.telling import tell_shrunk_life

        tell_shrunk_life(str(min(failures)), arguments)
    return 1 if failures else 0


async def run_planted(arguments: argparse.Namespace) -> int:
    """Plant each bug, and print how many seeds it takes until a life fails."""
    limit = asyncio.Semaphore(arguments.processes)
    missed = 0

    async def count_seeds(name: str) -> None:
        nonlocal missed
        async with limit:
            part = await start_part(arguments.first, arguments.seeds, "--stop", "--planted", name)
        failure = next(iter(part["failures"].values()), None)
        missed += failure is None
        found = f"{part['lives']:>5}  {name:<40} {failure.splitlines()[0]}" if failure else f"    –  {name}"
        print(found, flush=True)

    await asyncio.gather(*(count_seeds(name) for name in BUGS))
    print(f"{len(BUGS) - missed} of {len(BUGS)} planted bugs found within {arguments.seeds} seeds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
