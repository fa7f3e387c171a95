"""Records and headers of witness files, and a process that writes them until it is killed."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from postino.engine import witness_file
from postino.engine.witness_file import RING_START, WitnessFile
from postino.engine.witness_records import CELL, SentIntent, WitnessContents, WitnessHeader

NOW = datetime(2026, 5, 4, 3, 2, 1, 123456, tzinfo=UTC)
HERE = "0b7c"  # an installation
CELLS = 8  # a small ring


def make_header(**fields: object) -> WitnessHeader:
    usual = {"witness": "w1", "era": "e1", "place": "here", "n": 0, "pulse": 1, "alive_at": NOW, "counts": {}}
    return WitnessHeader(**usual | fields)  # type: ignore[arg-type]


def make_record(n: int, **fields: object) -> SentIntent:
    usual = {
        "n": n, "job_id": UUID(int=n), "step": "post", "position": 0, "number": 1, "intended_at": NOW,
        "send_before_at": NOW + timedelta(seconds=5), "lookup_at": NOW + timedelta(seconds=40),
    }  # fmt: skip
    return SentIntent(**usual | fields)  # type: ignore[arg-type]


def reaches_back(contents: WitnessContents, n: int) -> bool:
    """Return whether the ring holds every record of every batch after this one."""
    return contents.list_whole_batches().issuperset(range(n + 1, contents.n + 1))


def write_for_ever(folder: Path) -> None:
    """Write a header and a batch of three again and again, and print the number of each batch after it."""
    witness_file.CELLS, witness_file.FILE_SIZE = CELLS, RING_START + CELLS * CELL
    file = WitnessFile.open(folder, HERE)
    n = file.read().n
    while True:
        n += 1
        file.write_header(make_header(pulse=n))
        file.append("w1", [make_record(n, number=number) for number in range(3)])
        print(n, flush=True)


if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]))
