"""What must hold after every transaction of a life, whoever made it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from postino.stores.memory import MemoryDriver
from postino.stores.statement import Operation
from postino.testing.simulation.sandbox_networks import PublishedPost
from tests.simulator import site
from tests.simulator.oracle import read_number

if TYPE_CHECKING:
    from tests.simulator.life import Life

T = TypeVar("T")
RUNNING = "SELECT channel, count(*) FROM postino_jobs WHERE state = 'running' GROUP BY channel"
CAPS = "SELECT channel, coalesce(cap, default_cap) FROM postino_caps"
# The newest intent of a job, if no earlier one may be live.
FIRST_INTENT = """
SELECT intent.intended_at FROM postino_intents AS intent WHERE intent.job_id = ?1
  AND NOT EXISTS (
    SELECT 1 FROM postino_intents AS earlier WHERE earlier.job_id = ?1 AND earlier.intended_at < intent.intended_at
      AND NOT EXISTS (SELECT 1 FROM postino_receipts AS refusal WHERE refusal.job_id = ?1
        AND refusal.step = earlier.step AND refusal.number = earlier.number AND refusal.verdict = 'refused')
  )
ORDER BY intent.intended_at DESC LIMIT 1
"""


class WatchedDatabase(MemoryDriver):
    """The database of a life. It checks the invariants after each transaction that could break them."""

    def __init__(self, life: Life) -> None:
        super().__init__(life.source.true_time)
        self.life = life
        self.place = site.PLACE.format(1)
        self.counts: dict[str, int] = {}

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        name = operation.gi_code.co_name  # type: ignore[attr-defined]
        result = await super().transact(operation, lock_timeout=lock_timeout)
        self.life.operations[name] += 1
        if name == "claim":
            self.check_caps()
        return result

    perform = transact
    read = transact

    def check_caps(self) -> None:
        """No claim runs more jobs of a channel than its cap; a cap that was lowered stops nothing that runs."""
        caps, counts = dict(self.ask(CAPS)), dict(self.ask(RUNNING))
        for channel, count in counts.items():
            cap = caps.get(channel)
            if cap is not None and count > max(cap, self.counts.get(channel, 0)):
                self.life.fail(f"cap: {count} jobs of {channel} run, although its cap is {cap}")
        self.counts = counts

    def ask(self, statement: str, *parameters: Any) -> list[Any]:
        return [*self.connection.execute(statement, parameters)]


def check_pauses(life: Life, post: PublishedPost) -> None:
    """A post whose first intent was committed while its gate was paused must not go out."""
    account = f"{post.network}:{post.account}"
    [*promises] = life.oracle.find_promises(read_number(post.text), account)
    if len(promises) != 1 or promises[0].is_relaxed or promises[0].allowed != 1:
        return
    rows = life.database.ask(FIRST_INTENT, str(promises[0].job))
    if not rows:
        return
    intended_at, brand = rows[0][0], life.brands.get(account)
    for (scope, name), since in life.oracle.held.items():
        holds = (scope, name) in (("all", ""), ("account", account), ("channel", post.network), ("brand", brand))
        if holds and intended_at > since.strftime("%Y-%m-%dT%H:%M:%S.%fZ"):
            life.fail(f"paused: post {promises[0].number} of {account} was sent although {scope} {name} is paused")


def check_secrets(life: Life) -> None:
    """No credential is readable in the database or in what was told."""
    [*accounts] = life.sandbox.connection.execute("SELECT credentials FROM accounts")
    everything = life.database.connection.serialize("main") + "\n".join(it for _, it in life.story).encode()
    for (credentials,) in accounts:
        for name, value in json.loads(credentials).items():
            is_public = name in ("handle", "identifier", "chat_id", "did") or len(value) < 12
            if not is_public and value.encode() in everything:
                life.fail(f"secret: the {name} of an account is readable")
