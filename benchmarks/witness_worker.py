"""`postino worker` with its witness, with the row in the database only, or without both.

`python -m benchmarks.witness_worker full|row|none --data-dir DIRECTORY`. For measurements only: without the witness, a
worker publishes posts again if the database was restored from a backup.
"""

import os
import sys
from collections.abc import Sequence

from postino.cli import main
from postino.engine.witness import Witness
from postino.values.ledger import IntentEntry, NewIntent

MODES = ("full", "row", "none")


async def record_intents_only(witness: Witness, intents: Sequence[NewIntent]) -> Sequence[IntentEntry | None]:
    """Commit the intents, and neither count nor remember them."""
    return await witness.store.record_intents(intents)


def run_worker(mode: str, arguments: Sequence[str]) -> None:
    assert mode in MODES, f"{mode} is none of {', '.join(MODES)}"
    if mode == "row":
        os.environ["POSTINO_STATE_DIR"] = os.devnull  # no directory, so there is no file
    if mode == "none":
        Witness.record_intents = record_intents_only  # type: ignore[assignment,method-assign]
    sys.argv = ["postino", "worker", *arguments]
    main()


if __name__ == "__main__":
    run_worker(sys.argv[1], sys.argv[2:])
