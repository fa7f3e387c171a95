"""`make fuzz`: send random requests on both stores; each round uses a new Postino and its own seed."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from tests.documents import ROOT
from tests.fuzz.report import count_by_route, list_unseen_statuses, summarise
from tests.fuzz.runner import CallerKind, FuzzResult, run_fuzzer
from tests.fuzz.seed_data import create_seed_data
from tests.fuzz.target import Target
from tests.servers.postgres import PostgresServer

EXAMPLES, STORIES = 30, 100  # for each operation, and of answers that lead to other questions
FIGURES = ROOT / "build" / "fuzz.json"
STORES = ("sqlite", "postgres")
ROUNDS = [(store, whose) for whose in (CallerKind.OWNER, CallerKind.EDITOR, CallerKind.NOBODY) for store in STORES]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=50_000, help="how many at least")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="of the first round")
    options = parser.parse_args()
    print(f"seed {options.seed}, at least {options.calls} calls", flush=True)
    begun, runs, troubles = time.monotonic(), list[tuple[str, FuzzResult]](), list[str]()
    with PostgresServer() as postgres:
        for number, (store, whose) in enumerate(cycle(ROUNDS)):
            if sum(result.calls for _, result in runs) >= options.calls and len({it for it, _ in runs}) == len(STORES):
                break
            result, trouble = run_round(postgres, store, whose, options.seed + number)
            runs.append((store, result))
            troubles += trouble
    figures = {"seed": options.seed, **summarise(runs, troubles), "seconds": round(time.monotonic() - begun)}
    every = [one for _, one in runs]
    print_routes(count_by_route(every))
    more = {"routes": count_by_route(every), "documented statuses that no response had": list_unseen_statuses(every)}
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(figures | more, indent=1) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name}: {value}")
    print(f"These figures are in {FIGURES.relative_to(ROOT)}.")
    return 0 if figures["clean"] else 1


def run_round(postgres: PostgresServer, store: str, whose: CallerKind, seed: int) -> tuple[FuzzResult, list[str]]:
    with (
        tempfile.TemporaryDirectory() as name,
        database(postgres, store) as url,
        Target(Path(name) / "data", url) as target,
    ):
        world = create_seed_data(target)
        result = run_fuzzer(target, Path(name), world, whose, seed=seed, examples=EXAMPLES, stories=STORIES)
        print(f"seed {seed}, {store}, {whose}: {result.calls} calls in {result.seconds:.0f} s", flush=True)
        if not result.clean:
            print(result.output, flush=True)
        target.kill_group()
        return result, target.list_internal_errors()


@contextmanager
def database(postgres: PostgresServer, store: str) -> Iterator[str | None]:
    if store == "sqlite":
        yield None
        return
    with postgres.database() as url:
        yield url


def print_routes(counts: Mapping[str, Mapping[str, int]]) -> None:
    for route, classes in sorted(counts.items()):
        print(f"{route}: {', '.join(f'{count} {name}' for name, count in classes.items() if count) or 'never asked'}")


if __name__ == "__main__":
    sys.exit(main())
