"""Which crash points are passed on the way of what."""

from postino.engine.crashpoints import POINTS

# By posts alone: swept in `publishing/`.
PUBLISHING = ("create_posts.", "act.", "remember.", "forget.", "intend.", "send.", "note.", "look.")
ENGINE_POINTS = tuple(point for point in POINTS if not point.startswith(PUBLISHING))
