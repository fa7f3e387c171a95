"""Send POST /v1/posts from 50 clients at once, and measure the rate and the response times."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.install import Installed
from benchmarks.service import Service, run_client
from benchmarks.trial import Store
from benchmarks.workload import Figure, Stage, Target, Workload

CLIENTS, SECONDS = 50, 6.0
EACH, BRANDS = 100, 20  # accounts on each network
APART = 10_000_000  # no two runs of clients say the same


def accept(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    seconds = max(0.5, SECONDS * min(1, stage.scale))
    with Service(stage.server, store) as service:
        if installed.subject.name == "raw_api":
            service.url = service.start_limit()
            return name_figures("keyed", run_posts(service, seconds, 0, ["a"], keyed=False)) | floor(service, seconds)
        accounts = service.open_accounts(stage.size(EACH), BRANDS)
        service.start()
        idle = service.wait_until_idle("server")
        keyed = run_posts(service, seconds, 1, accounts, keyed=True)
        plain = run_posts(service, seconds, 2, accounts, keyed=False)
        measured = name_figures("keyed", keyed) | name_figures("plain", plain) | floor(service, seconds)
        service.check()
        return measured | {"idle": idle, "after": service.wait_until_idle("server")}


def run_posts(service: Service, seconds: float, turn: int, accounts: list[str], *, keyed: bool) -> dict[str, Any]:
    asked = {"url": service.url, "key": service.key, "clients": CLIENTS, "first": turn * APART, "now": False}
    return run_client("accept", what="posts", seconds=seconds, accounts=accounts, keyed=keyed, **asked)


def floor(service: Service, seconds: float) -> dict[str, float]:
    """Measure GET /health/live on the same server."""
    asked = {"url": service.url, "key": service.key, "clients": CLIENTS, "first": 0, "now": False}
    result = run_client("accept", what="health", seconds=seconds / 2, accounts=[], keyed=False, **asked)
    return {"health": result["rate"]}


def name_figures(name: str, result: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}-{figure}": result[figure] for figure in ("rate", "p50", "p99")}


def figures(*ratio: Target) -> tuple[Figure, ...]:
    return (
        Figure("keyed-rate", "posts accepted, each with an Idempotency-Key", "posts/s", True, ratio),
        Figure("keyed-p50", "response time with a key, p50", "ms"),
        Figure("keyed-p99", "response time with a key, p99", "ms"),
        Figure("plain-rate", "posts accepted without keys", "posts/s", True),
        Figure("plain-p50", "response time without keys, p50", "ms"),
        Figure("plain-p99", "response time without keys, p99", "ms"),
        Figure("health", "GET /health/live by the same clients", "requests/s", True),
        Figure("idle", "resident memory of the server, idle after its start", "MB"),
        Figure("after", "resident memory of the server at the end", "MB"),
    )


WORKLOADS = (
    Workload(
        "accept",
        f"POST /v1/posts by {CLIENTS} clients at once, PostgreSQL",
        ("postino", "raw_api"),
        figures(Target(0.33, "raw_api")),
        partial(accept, store="postgres"),
        most_rounds=3,
    ),
    Workload(
        "accept-sqlite",
        f"POST /v1/posts by {CLIENTS} clients at once, SQLite",
        ("postino",),
        figures(),
        partial(accept, store="sqlite"),
        most_rounds=3,
    ),
)
