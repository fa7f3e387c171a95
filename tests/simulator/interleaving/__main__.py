"""Run lives of concurrent operations: `python -m tests.simulator.interleaving --seeds 100`, or tell one: `--seed 7`."""

import argparse
import asyncio
import gc
import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import structlog

from tests.simulator.interleaving.planted_bugs import BUGS
from tests.simulator.planting import plant

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

LAST_SENTENCES = 60  # of the story of a failure


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many lives")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first life")
    parser.add_argument("--these", help="the seeds, separated by commas")
    parser.add_argument("--seed", help="tell the story of this life")
    parser.add_argument("--planted", nargs="?", const="all", help="plant this bug, or each in turn")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--fingerprints", action="store_true", help="print a hash of each story")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if os.environ.get("PYTHONHASHSEED") != "0":  # or sets of texts would have another order in each process
        command = [sys.executable, "-W", "ignore", "-m", "tests.simulator.interleaving", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"PYTHONHASHSEED": "0"})
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(50), logger_factory=structlog.ReturnLoggerFactory()
    )
    if arguments.planted == "all":
        return asyncio.run(run_planted(arguments.seeds))
    if arguments.planted:
        plant(BUGS[arguments.planted])
    return asyncio.run(run(arguments))


def list_seeds(arguments: argparse.Namespace) -> list[str]:
    if arguments.seed is not None:
        return [arguments.seed]
    if arguments.these is not None:
        return [*arguments.these.split(",")]
    return [str(seed) for seed in range(arguments.first, arguments.first + arguments.seeds)]


async def run(arguments: argparse.Namespace) -> int:
    """Run lives one after the other, and tell what each failure was, and the story of the first."""
    from tests.simulator.interleaving.life import run_life
    from tests.simulator.interleaving.sessions import open_sessions

    failed: list[Life] = []
    lives, steps, operations = 0, 0, Counter[str]()
    async with open_sessions() as sessions:
        started = time.monotonic()
        for seed in list_seeds(arguments):
            life = await run_life(seed, sessions)
            lives, steps, operations = lives + 1, steps + life.steps, operations + life.operations
            if lives == 1:
                gc.freeze()  # what the first life has imported and cached
            if arguments.fingerprints:
                print(f"{seed} {life.compute_fingerprint()}")
            if life.failures:
                failed.append(life)
                print(f"--seed {seed}: {life.failures[0]}", flush=True)
                if arguments.stop:
                    break
    if arguments.seed is not None or failed:
        tell(failed[0] if failed else life, None if arguments.seed is not None else LAST_SENTENCES)
    print(
        f"{lives} lives, {steps} steps of {sum(operations.values())} operations of {len(operations)} kinds,"
        f" {time.monotonic() - started:.1f} s: {len(failed)} failures"
    )
    return 1 if failed else 0


def tell(life: "Life", last: int | None) -> None:
    """Print the end of a life's story, or all of it."""
    for at, sentence in life.story[-last:] if last else life.story:
        print(f"{at:%H:%M:%S}  {sentence}")


async def run_planted(seeds: int) -> int:
    """Plant each bug in turn, and print after how many seeds it was found."""
    missed = 0
    options = ["-W", "ignore", "-m", "tests.simulator.interleaving", "--stop", "--seeds", str(seeds), "--planted"]
    for name in BUGS:
        process = await asyncio.create_subprocess_exec(sys.executable, *options, name, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        found = next((line for line in output.decode().splitlines() if line.startswith("--seed")), None)
        missed += found is None
        print(f"{name}: {found or f'not found in {seeds} seeds'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
