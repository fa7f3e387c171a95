"""Publish the posts of one brand on time while another brand and strangers attack.

Attackers have machines of their own. Here their clients share the cores with Postino, so they run with the lowest
priority, and a third case uses as much CPU time as they do, without an attack.
"""

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from benchmarks.clients.hostile_server import HANDLERS
from benchmarks.install import Installed
from benchmarks.service import STORES, Service, run_client_with_priority
from benchmarks.trial import Failed, Store
from benchmarks.workload import Figure, Stage, Target, Workload, percentile
from benchmarks.workloads.household import wait_for_worker

ACCOUNTS, POSTS, RATE = 60, 300, 20.0  # accounts of both brands on each network; posts; posts due each second
VICTIM, ATTACKER = "brand 0", "brand 1"
LEAD = timedelta(seconds=4)  # from the first request to the first post that is due
LONGEST = 60.0
RATE_LIMIT = 100.0  # requests per second of a key, the default
HOSTILE_ACCOUNTS, OWN_SERVER_ACCOUNTS = 5, 2  # accounts on simulated networks; on each hostile server
LOWEST = 19  # priority
SETTINGS = """
[networks]
allowed_private_origins = {origins}
"""


@dataclass(frozen=True)
class Disturbance:
    """What runs while the victim's posts are due."""

    service: Service
    sandbox: str
    ports: Sequence[int]
    own_server_accounts: Sequence[str]
    hostile_accounts: Sequence[str]
    seconds: float

    def attack(self) -> dict[str, Any]:
        """Attack as a customer with an editor key, and as strangers."""
        key = {"name": "attacker", "role": "editor", "brands": [ATTACKER], "job_types": ["*"]}
        result = run_client_with_priority(
            LOWEST, "attacker", url=self.service.url, key=self.service.ask("POST", "/v1/api-keys", key)["key"],
            accounts=self.hostile_accounts, own_server_accounts=self.own_server_accounts, ports=self.ports,
            sandbox=self.sandbox, brand=ATTACKER, seconds=self.seconds,
        )  # fmt: skip
        if result["unreached"]:
            raise Failed(f"these attacks did not reach the code that they are about: {', '.join(result['unreached'])}.")
        return result

    def use_cpu(self, cpu: float) -> dict[str, Any]:
        """Use as much CPU time as the clients of an attack did, without an attack."""
        return run_client_with_priority(LOWEST, "busy", cpu=cpu, seconds=self.seconds)


Disturb = Callable[[Disturbance], dict[str, Any]]


def attack(stage: Stage, installed: Installed, store: Store) -> Mapping[str, float]:
    """Measure every case in every round, each on a new database, so that other load affects all of them."""
    count = stage.size(POSTS)
    quiet, _ = measure_lateness(stage, store, lambda _: {})
    attacked, result = measure_lateness(stage, store, Disturbance.attack)
    busy, _ = measure_lateness(stage, store, lambda it: it.use_cpu(result["cpu"]))
    lateness = {
        f"{name}-p{share}": percentile(late, share / 100)
        for name, late in (("quiet", quiet), ("busy", busy), ("attacked", attacked))
        for share in (50, 99)
    }
    return lateness | {
        "ratio": lateness["attacked-p99"] / lateness["quiet-p99"],
        "busy-ratio": lateness["attacked-p99"] / lateness["busy-p99"],
        "missing": count - len(attacked), "requests": result["requests"], "accepted": result["accepted"],
        "errors": result["server_errors"], "cpu": result["cpu"],
    }  # fmt: skip


def measure_lateness(stage: Stage, store: Store, disturb: Disturb) -> tuple[list[float], dict[str, Any]]:
    """Return how late each of the victim's posts was, in milliseconds, and what the disturbance returned."""
    count = stage.size(POSTS)
    with Service(stage.server, store, rate=RATE_LIMIT) as service, ThreadPoolExecutor(1) as executor:
        sandbox = service.start_sandbox()
        ports = [find_free_port() for _ in HANDLERS]
        origins = [f"http://127.0.0.1:{port}" for port in ports]
        service.add_settings(SETTINGS.format(origins=json.dumps(origins)))
        accounts = service.open_sandbox_accounts(sandbox, stage.size(ACCOUNTS), brands=2)
        own_server_accounts = service.open_own_server_accounts(origins, ATTACKER, OWN_SERVER_ACCOUNTS)
        service.start()
        service.start_worker()
        wait_for_worker(service)
        known = service.ask("GET", "/v1/accounts")["data"]
        victims = [account["id"] for account in known if account["brand"] == VICTIM]
        publish_on_time(service, sandbox, victims, "warm-up", 30)
        hostile = [name for name in accounts if name not in victims]
        disturbance = Disturbance(
            service, sandbox, ports, own_server_accounts, hostile[:HOSTILE_ACCOUNTS],
            count / RATE + LEAD.total_seconds(),
        )  # fmt: skip
        disturbing = executor.submit(disturb, disturbance)
        late = publish_on_time(service, sandbox, victims, "measured", count)
        result = disturbing.result()
        service.check()
    return late, result


def publish_on_time(service: Service, sandbox: str, accounts: Sequence[str], name: str, count: int) -> list[float]:
    """Schedule posts at a steady rate; return how late each was published, in milliseconds."""
    first = datetime.now(UTC) + LEAD
    due = {f"{name} {number}": first + timedelta(seconds=number / RATE) for number in range(count)}
    for number, (text, at) in enumerate(due.items()):
        service.ask("POST", "/v1/posts", {"text": text, "accounts": [accounts[number % len(accounts)]],
                                          "at": at.isoformat()})  # fmt: skip
    deadline = time.monotonic() + count / RATE + LONGEST
    time.sleep(max(0.0, (max(due.values()) - datetime.now(UTC)).total_seconds()))  # reading the record disturbs
    while True:
        service.check()
        published = list_published(service, sandbox, due)
        if len(published) == count or time.monotonic() > deadline:
            return [1000 * (at - due[text]).total_seconds() for text, at in published.items()]
        time.sleep(0.5)


def list_published(service: Service, sandbox: str, due: Mapping[str, Any]) -> dict[str, datetime]:
    rows = service.ask("GET", "/_sandbox/published", url=sandbox)["data"]
    return {row["text"]: datetime.fromisoformat(row["published_at"]) for row in rows if row["text"] in due}


def find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


CASES = {
    "quiet": "without the attack",
    "busy": "with an unrelated process that uses as much CPU time as the attackers' clients",
    "attacked": "during the attack",
}
FIGURES = (
    *(
        Figure(f"{case}-p{share}", f"lateness of the posts {title}, p{share}", "ms")
        for case, title in CASES.items()
        for share in (50, 99)
    ),
    Figure("ratio", "p99 during the attack, compared with the quiet run", "×", targets=(Target(1.2),)),
    Figure("busy-ratio", "p99 during the attack, compared with the unrelated process", "×"),
    Figure("missing", "posts not published", "posts", targets=(Target(0),)),
    Figure("requests", "hostile requests", "requests"),
    Figure("accepted", "hostile requests that the API accepted", "requests"),
    Figure("errors", "hostile requests that caused an error of the server", "requests", targets=(Target(0),)),
    Figure("cpu", "CPU time of the attackers' clients", "s"),
)
WORKLOADS = tuple(
    Workload(
        f"attack{ending}",
        f"{POSTS} posts of one brand, {RATE:g} due each second, while another brand and strangers attack, {title}",
        ("postino",),
        FIGURES,
        partial(attack, store=store),
    )
    for store, (ending, title) in STORES.items()
)
