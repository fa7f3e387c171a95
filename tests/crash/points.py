"""Which crash points are passed on the way of what."""

import os

from postino.engine.crashpoints import POINTS

# Whether to kill everywhere, as `make crash` does, or in some places of each kind, others every time.
EVERYTHING = bool(os.environ.get("CRASH_EVERYTHING"))
# By posts alone: swept in `publishing/`.
PUBLISHING = (
    "create_posts.", "act.", "remember.", "forget.", "spend.", "intend.", "send.", "note.", "look.",
    "unspend.", "cool.", "answered.",
)  # fmt: skip
ENGINE_POINTS = tuple(point for point in POINTS if not point.startswith(PUBLISHING))
