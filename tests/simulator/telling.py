"""Prints the story of a life and, if it fails, the shrunk story."""

from __future__ import annotations

import argparse
from pathlib import Path

from postino.testing.simulation.narration import collapse
from tests.simulator.life import run_life, run_script
from tests.simulator.regressions import load, save
from tests.simulator.script import Script, draw_script
from tests.simulator.shrink import ShrunkLife, shrink


def tell_life(arguments: argparse.Namespace) -> int:
    """Print what happens in a life. `after` so many other lives it must be the same."""
    for other in range(arguments.after):
        run_life(f"other {other}")
    life = run_script(read_script(arguments.seed))
    if not arguments.brief:
        print("\n".join(collapse(life.story)))
    if life.failures:
        tell_shrunk_life(arguments.seed, arguments)
    return 1 if life.failures else 0


def read_script(seed: str) -> Script:
    """Return the life of a seed, or the one in a file."""
    return load(Path(seed)) if seed.endswith(".json") else draw_script(seed)


def tell_shrunk_life(seed: str, arguments: argparse.Namespace) -> None:
    """Print the shortest story with the same failure, and save it if the arguments say so."""
    shrinking = shrink(read_script(seed), runs=arguments.runs, seconds=arguments.shrink)
    print(f"\nThe shrunk story of SEED={seed} ({describe_size(shrinking)}):\n")
    print("\n".join(collapse(shrinking.result.story)))
    if arguments.save:
        print(f"\nSaved as {save(shrinking, Path(arguments.save), arguments.planted)}. `make test` replays it.")


def describe_size(shrinking: ShrunkLife) -> str:
    before, after = shrinking.original, shrinking.script
    lives = f"{shrinking.runs} lives"
    return (
        f"{len(after.acts)} of {len(before.acts)} acts, {len(after.events)} of {len(before.events)} events,"
        f" {len(after.swarm.rates)} of {len(before.swarm.rates)} faults, {lives}"
    )
