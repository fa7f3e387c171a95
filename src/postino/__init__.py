"""Postino: a publishing queue that never posts twice, never loses a post and never fails silently."""

import sys

# `python -m postino` searches the current directory first: a module there must not replace one that Postino imports.
if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("postino", "-mpostino") and not sys.flags.safe_path:
    sys.path.pop(0)

from postino.config import Config
from postino.engine.call import Call
from postino.engine.job_spec import JobSpec
from postino.errors import Conflict, NotFound, PostinoError, WrongUse
from postino.rules.retry import Exponential, Schedule
from postino.values.event import Event
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from postino.wiring import Postino

__version__ = "0.1.0"

__all__ = [
    "Call",
    "Config",
    "Conflict",
    "Defer",
    "Done",
    "Event",
    "Exponential",
    "Job",
    "JobSpec",
    "NotFound",
    "Outcome",
    "Postino",
    "PostinoError",
    "Queue",
    "Reject",
    "Retry",
    "Schedule",
    "State",
    "Unknown",
    "WrongUse",
    "__version__",
]
