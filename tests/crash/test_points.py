"""Every write of the store and every outbound call has a crash point on either side, and a sweep reaches each."""

import inspect
import re
from pathlib import Path

from postino import engine
from postino.stores.binding import WRITES, BoundOperation, BoundWrite
from postino.stores.store import CRASH_POINTS, Store
from tests.crash.points import OUTSIDE, POINTS, REQUESTS
from tests.crash.publishing import test_deaths as deaths
from tests.crash.publishing import test_sweep as ways
from tests.crash.test_restore import CASES as EXAMINED
from tests.crash.test_sweep import CALLERS, CASES, STUCK_CASES

LIFECYCLE = {"open", "close", "migrate", "enqueue_on"}  # `enqueue_on` is part of the caller's own transaction


def test_every_method_of_the_store_reads_or_has_crash_points() -> None:
    public = {name: value for name, value in vars(Store).items() if not name.startswith("_") and callable(value)}
    bare = {
        name
        for name, value in {**public, **vars(Store)}.items()
        if inspect.iscoroutinefunction(value) and not hasattr(value, WRITES)
    }
    assert bare == LIFECYCLE


def test_reading_methods_have_no_crash_points() -> None:
    reads = {
        name
        for name, value in vars(Store).items()
        if isinstance(value, BoundOperation) and not isinstance(value, BoundWrite)
    }
    assert reads & {point.partition(".")[0] for point in CRASH_POINTS} == set()


def test_outbound_calls_have_crash_points_on_either_side() -> None:
    source = "".join(path.read_text() for path in Path(str(engine.__file__)).parent.glob("*.py"))
    there = re.findall(r'crash_point\("(\w+\.\w+)"\)', source)
    assert sorted(there) == sorted(f"{name}.{side}" for name in OUTSIDE for side in ("before", "after"))


def test_requests_are_writes_of_the_store() -> None:
    assert set(REQUESTS) <= {point.partition(".")[0] for point in CRASH_POINTS}


def test_the_sweeps_reach_every_crash_point_of_workers() -> None:
    reached = {case.partition(":")[0] for case in CASES + CALLERS + STUCK_CASES + EXAMINED}
    reached |= {*ways.ALWAYS_PASSED, *ways.STARTED_ANEW, *ways.SENT_AGAIN, *ways.LOOKED_FOR}
    reached |= {
        *deaths.TOO_MANY,
        *deaths.OUT_OF_REACH,
        *deaths.TAKEN_OVER,
        *deaths.TAKING_LONG,
        *deaths.ON_THE_WAY_OUT,
        *deaths.ASKED_FOR,
    }
    assert reached == set(POINTS)
