"""`make fuzz`: asks until enough was asked, each round of a fresh Postino and with a seed of its own."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.documents import ROOT
from tests.fuzz.asking import Found, ask_anything
from tests.fuzz.household import Target
from tests.fuzz.world import furnish

EXAMPLES = 30
FIGURES = ROOT / "build" / "fuzz.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=50_000, help="how many at least")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="of the first round")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, at least {asked.calls} calls", flush=True)
    begun, rounds, troubles = time.monotonic(), list[tuple[bool, Found]](), list[str]()
    while sum(found.calls for _, found in rounds) < asked.calls:
        seed = asked.seed + len(rounds) // 2
        told, trouble = one_round(seed)
        rounds += told
        troubles += trouble
    figures = summed(asked.seed, rounds, troubles, time.monotonic() - begun)
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name}: {value}")
    print(f"These figures are in {FIGURES.relative_to(ROOT)}.")
    return 0 if figures["clean"] else 1


def one_round(seed: int) -> tuple[list[tuple[bool, Found]], list[str]]:
    told = []
    with tempfile.TemporaryDirectory() as name, Target(Path(name) / "data") as target:
        known = furnish(target)
        for with_key in (False, True):
            found = ask_anything(
                target, Path(name), known=known, seed=seed, examples=EXAMPLES, with_key=with_key
            )
            told.append((with_key, found))
            print(f"seed {seed} {whose(with_key)}: {found.calls} calls in {found.seconds:.0f} s", flush=True)
            if not found.clean:
                print(found.said, flush=True)
        target.kill_group()
        return told, target.troubles()


def summed(seed: int, rounds: list[tuple[bool, Found]], troubles: list[str], seconds: float) -> dict[str, Any]:
    failures = sum((Counter(found.failures) for _, found in rounds), Counter[str]())
    calls = {whose(key): sum(found.calls for with_key, found in rounds if with_key is key) for key in (True, False)}
    return {
        "seed": seed,
        "calls": sum(calls.values()),
        **{f"calls {name}": count for name, count in calls.items()},
        "links": max(found.links for _, found in rounds),
        "operations": max(found.operations for _, found in rounds),
        "seconds": round(seconds),
        "failures": dict(failures),
        "errors": sum(found.errors for _, found in rounds),
        "server errors in the log": len(troubles),
        "clean": all(found.clean for _, found in rounds) and not troubles,
    }


def whose(with_key: bool) -> str:
    return "with a key" if with_key else "without a key"


if __name__ == "__main__":
    sys.exit(main())
