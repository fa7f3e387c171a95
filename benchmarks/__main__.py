"""`python -m benchmarks`: run the workloads, print the table, and write JSON and plots to build/bench/."""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks.catalogue import WORKLOADS, chosen
from benchmarks.install import ROOT
from benchmarks.plot import svg
from benchmarks.results import Result
from benchmarks.run import failures, run
from benchmarks.subjects import SUBJECTS, Role
from benchmarks.table import show

PEERS = [name for name, subject in SUBJECTS.items() if subject.role is Role.PEER]

SHOWN = ("drain", "drain-two", "drain-sqlite", "enqueue-16", "enqueue-100", "due")  # in the README, as docs/speed.svg


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help=f"workloads, with commas between: {', '.join(WORKLOADS)}")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"peers, with commas between: {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is repeated; long ones less often")
    parser.add_argument("--size", type=float, default=1.0, help="a fraction of the full sizes, to try things out")
    parser.add_argument("--large", action="store_true", help="the runs with ten million rows")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench", help="where the results go")
    return parser.parse_args(given)


def peers(names: str) -> list[str]:
    wanted = [name for name in names.split(",") if name and name != "none"]
    for unknown in set(wanted) - set(PEERS):
        raise SystemExit(f"There is no peer {unknown!r}. There are: {', '.join(PEERS)}, and none.")
    return wanted


def write(folder: Path, results: Sequence[Result], about: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    summary = {"at": datetime.now(UTC).isoformat(), **about, "results": [result.to_json() for result in results]}
    name = "results-large.json" if any(result.workload.large for result in results) else "results.json"
    (folder / name).write_text(json.dumps(summary, indent=1))
    for result in results:
        (folder / f"{result.workload.name}.svg").write_text(svg([result]))
    compared = [result for result in results if len(result.workload.contestants) > 1]
    (folder / "all.svg").write_text(svg(compared))
    (folder / "speed.svg").write_text(svg([result for result in results if result.workload.name in SHOWN]))


def main(given: Sequence[str] | None = None) -> int:
    wanted = arguments(given)
    console = Console(width=None if sys.stdout.isatty() else 160)
    workloads = chosen(wanted.only, large=wanted.large)
    results, about = run(
        workloads, peers(wanted.peers), wanted.rounds, wanted.size, lambda line: console.print(line, highlight=False)
    )
    write(wanted.folder, results, about)
    show(console, results)
    console.print(f"JSON and plots: {wanted.folder}")
    for failure in failures(results):
        console.print(failure, markup=False)
    return 1 if failures(results) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped."))  # so that servers and files are removed
    sys.exit(main())
