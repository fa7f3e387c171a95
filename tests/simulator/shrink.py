"""Shrinks a failing life: leaves out acts, events, faults, accounts and time, as long as it fails in the same way."""

from __future__ import annotations

from dataclasses import replace

from postino.testing.simulation.loop import START
from postino.testing.simulation.shrinking import Budget, FoundFailure, Shrinking
from postino.testing.simulation.source import BEGIN
from tests.simulator.life import Life, run_script
from tests.simulator.script import Script

ShrunkLife = Shrinking[Script, Life]


def shrink(script: Script, *, runs: int = 600, seconds: float = 120.0) -> ShrunkLife:
    """Return the smallest failing life that was found. Raises LookupError if the life does not fail."""
    budget = Budget(runs, seconds)
    life = Shrinking(strip(script), run_script, find_failure, budget)
    life.script = replace(life.script, accounts=life.script.accounts or tuple(life.result.accounts))
    life.shrink()
    return life


def strip(script: Script) -> Script:
    """Return the script without the rates from which its acts were drawn."""
    return replace(script, swarm=replace(script.swarm, acts={}, events={}))


def find_failure(life: Life) -> FoundFailure | None:
    if not life.failures:
        return None
    at = next(at for at, sentence in life.story if sentence.startswith("BROKEN"))
    return FoundFailure(
        life.failures[0].partition(":")[0], (at - BEGIN).total_seconds() - START, life.rates.list_hits()
    )
