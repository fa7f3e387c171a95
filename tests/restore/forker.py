"""Forks workers as the crash tests do, each with the state directory of the machine that it plays."""

import sys

from tests.crash import forker
from tests.restore.program import work

if __name__ == "__main__":
    forker.act = work  # type: ignore[attr-defined]
    forker.main(sys.argv[1])
