"""Use a given amount of CPU time, evenly over a given time, and nothing else."""

import json
import sys
import time

SLICE = 0.005  # seconds of CPU time


def run(cpu: float, seconds: float) -> dict[str, float]:
    """Use `cpu` seconds of CPU time within `seconds`; return how much was used."""
    ended_at, pause = time.monotonic() + seconds, SLICE * max(0.0, seconds / cpu - 1)
    while time.monotonic() < ended_at and time.process_time() < cpu:
        slice_until = time.process_time() + SLICE
        while time.process_time() < slice_until:
            pass
        time.sleep(pause)
    return {"cpu": time.process_time()}


if __name__ == "__main__":
    print(json.dumps(run(**json.loads(sys.argv[1]))))
