"""Send 50 events a second to 100 listeners of GET /v1/events, and measure delays and losses."""

from collections.abc import Mapping
from functools import partial

from benchmarks.install import Installed
from benchmarks.service import STORES, Service, run_client
from benchmarks.trial import Store
from benchmarks.workload import Figure, Stage, Target, Workload

LISTENERS, RATE, EVENTS = 100, 50, 1_000
ACCOUNTS, BRANDS = 20, 5  # on each network


def stream(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    with Service(stage.server, store) as service:
        accounts = service.open_accounts(ACCOUNTS, BRANDS)
        service.start()
        heard = run_client(
            "stream",
            url=service.url,
            key=service.key,
            accounts=accounts,
            listeners=stage.size(LISTENERS),
            events=stage.size(EVENTS),
            rate=RATE,
        )
        service.check()
        return heard | {"after": service.wait_until_idle("server")}


FIGURES = (
    Figure("p50", "from the start of the transaction to the listener, p50", "ms"),
    Figure("p99", "from the start of the transaction to the listener, p99", "ms", targets=(Target(250),)),
    Figure("answer-p50", "from the response to the listener, p50", "ms"),
    Figure("answer-p99", "from the response to the listener, p99", "ms"),
    Figure("missed", "events that a listener missed", "events", targets=(Target(0),)),
    Figure("doubled", "events that a listener received twice", "events", targets=(Target(0),)),
    Figure("rate", "events created", "events/s", True),
    Figure("after", "resident memory of the server at the end", "MB"),
)
WORKLOADS = tuple(
    Workload(
        f"stream{ending}",
        f"{LISTENERS} listeners receive {RATE} events a second, {title}",
        ("postino",),
        FIGURES,
        partial(stream, store=store),
        most_rounds=2,
    )
    for store, (ending, title) in STORES.items()
)
