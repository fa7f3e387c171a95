"""Forks workers as the crash tests do; they publish under the gates that a test chooses."""

import sys

from tests.crash import forker
from tests.gates.worker_program import work

if __name__ == "__main__":
    forker.act = work  # type: ignore[attr-defined]
    forker.main(sys.argv[1])
