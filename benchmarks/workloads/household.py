"""Accept posts while a worker publishes them, as under `postino up`, and measure the memory of each process."""

import time
from collections.abc import Mapping
from functools import partial

from benchmarks.install import Installed
from benchmarks.service import STORES, Service, run_client
from benchmarks.trial import Failed, Store
from benchmarks.workload import Figure, Stage, Target, Workload

CLIENTS, SECONDS = 50, 6.0
ACCOUNTS, BRANDS = 40, 10  # on each network
PROCESSES = ("server", "worker", "sandbox")
TO_BEGIN = 30.0


def household(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    """Publish now through the API until the clients end; the time until publication does not count."""
    with Service(stage.server, store) as service:
        sandbox = service.start_sandbox()
        accounts = service.open_sandbox_accounts(sandbox, stage.size(ACCOUNTS), BRANDS)
        service.start()
        service.start_worker()
        wait_for_worker(service)
        idle = {f"{name}-idle": service.wait_until_idle(name) for name in PROCESSES}
        result = run_client(
            "accept", what="posts", url=service.url, key=service.key, clients=CLIENTS, first=0, now=True, keyed=True,
            accounts=accounts, seconds=max(0.5, SECONDS * min(1, stage.scale)),
        )  # fmt: skip
        service.check()
        published = len(service.ask("GET", "/v1/posts?status=published&limit=200")["data"])
        if not published:
            raise Failed("the worker published nothing meanwhile.")
        after = {f"{name}-after": service.memory(name) for name in PROCESSES}
        return {"rate": result["rate"], "p50": result["p50"], "p99": result["p99"]} | idle | after


def wait_for_worker(service: Service) -> None:
    deadline = time.monotonic() + TO_BEGIN
    while not service.ask("GET", "/v1/workers")["data"]:
        service.check()
        if time.monotonic() > deadline:
            raise Failed(f"no worker began within {TO_BEGIN:.0f} s.")
        time.sleep(0.1)


FIGURES = (
    Figure("rate", "posts accepted, each with an Idempotency-Key", "posts/s", True),
    Figure("p50", "response time, p50", "ms"),
    Figure("p99", "response time, p99", "ms"),
    *(
        Figure(f"{name}-{when}", f"resident memory of the {name}, {moment}", "MB", targets=(Target(150),))
        for name in PROCESSES
        for when, moment in (("idle", "idle after its start"), ("after", "at the end"))
    ),
)
WORKLOADS = tuple(
    Workload(
        f"household{ending}",
        f"{CLIENTS} clients publish now through the API, one worker, simulated networks, {title}",
        ("postino",),
        FIGURES,
        partial(household, store=store),
        most_rounds=1,
    )
    for store, (ending, title) in STORES.items()
)
