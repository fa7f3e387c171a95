"""What must hold after every transaction of a life, whoever made it."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from postino.rules.cooldown import DEFAULT_COOLDOWN
from postino.stores.memory import MemoryDriver
from postino.stores.statement import Operation
from postino.testing.simulation.http import SentRequest
from postino.testing.simulation.loop import process_name
from postino.testing.simulation.sandbox_networks import URL, PublishedPost
from postino.values.gate import Scope
from postino.values.job import Job
from tests.simulator import site
from tests.simulator.explain_check import check_explanations
from tests.simulator.oracle import read_number

if TYPE_CHECKING:
    from tests.simulator.life import Life

T = TypeVar("T")
RUNNING = "SELECT channel, count(*) FROM postino_jobs WHERE state = 'running' GROUP BY channel"
BUSY = (
    "SELECT account, count(*) FROM postino_jobs WHERE state = 'running' AND account IS NOT NULL"
    " GROUP BY channel, account HAVING count(*) > 1"
)
COOLDOWNS = "SELECT name, since_at, until_at FROM postino_gates WHERE kind = 'cooldown' AND scope = 'account'"
HOLDER = """
SELECT (SELECT max(send_before_at) FROM postino_intents WHERE job_id = ?1), claimed_by FROM postino_jobs WHERE id = ?1
"""
SETTINGS = "SELECT content, version FROM postino_settings"
BRAND = "SELECT brand FROM postino_jobs WHERE id = ?1 UNION ALL SELECT brand FROM postino_finished_jobs WHERE id = ?1"
SHARE_EXPLAINED = 0.25  # of the acts: to explain all posts takes as long as some acts
MOST_CLAIMS, CLAIM_SECONDS = 10, 2.0  # of one job within these seconds
MAX_SKEW = timedelta(seconds=max(site.NETWORK_SKEWS))  # a network may name an instant of its clock
LONGEST_HINT = timedelta(seconds=25)  # of the rate limits that name a time
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
        super().__init__(lambda: life.source.true_time() + timedelta(seconds=self.jump))
        self.life = life
        self.jump = 0.0  # by how many seconds its clock is wrong
        self.latest = self.clock()  # its latest time ever
        self.claims: defaultdict[UUID, deque[float]] = defaultdict(lambda: deque(maxlen=MOST_CLAIMS))
        self.place = site.PLACE.format(1)
        self.counts: dict[str, int] = {}

    async def transact(self, operation: Operation[T], *, lock_timeout: float | None = None) -> T:
        name = operation.gi_code.co_name  # type: ignore[attr-defined]
        result = await super().transact(operation, lock_timeout=lock_timeout)
        self.life.operations[name] += 1
        self.latest = max(self.latest, self.clock(), self.life.now())
        if name == "claim" and result:
            self.check_caps()
            self.check_lanes()
            self.check_rests(cast("list[Job]", result))
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

    def check_lanes(self) -> None:
        """No account runs two jobs at once."""
        for account, count in self.ask(BUSY):
            self.life.fail(f"lane: {count} jobs of {account} run at once")

    def check_rests(self, jobs: list[Job]) -> None:
        """No job is claimed again and again while it can do nothing."""
        for job in jobs:
            times = self.claims[job.id]
            times.append(self.life.loop.seconds)
            if len(times) == MOST_CLAIMS and times[-1] - times[0] < CLAIM_SECONDS:
                self.life.fail(f"hot loop: a job of {job.account} was claimed {MOST_CLAIMS} times: {job.last_error}")

    def ask(self, statement: str, *parameters: Any) -> list[Any]:
        return [*self.connection.execute(statement, parameters)]


def check_sent(life: Life, request: SentRequest) -> None:
    """A visible request leaves within the time of its intent, from the worker that holds its job."""
    life.left_at[id(request)] = life.now()
    name = process_name.get()
    text = str(request.json or request.form or request.body)
    if not request.visible or life.restores or life.database.jump or name not in life.apps or "copy" in name:
        return
    network = request.url.removeprefix(URL + "/").partition("/")[0]
    number = read_number(text)
    jobs = [it.job for it in life.oracle.promises.values() if it.number == number and it.account.startswith(network)]
    if not jobs or number in life.oracle.unanswered:
        return
    rows = [row for job in jobs for row in life.database.ask(HOLDER, str(job))]
    worker = life.apps[name].worker
    if worker is not None and worker.id not in {holder for _, holder in rows}:
        life.fail(f"fence: {name} sends post {number} to {network}, which it does not hold")
    others = [it for it in life.sandbox.under_way if it is not request and it.visible and it.url == request.url]
    if any(read_number(str(it.json or it.form or it.body)) == number for it in others) and len(jobs) == 1:
        life.fail(f"overlap: {name} sends post {number} to {network} while an earlier request is under way")
    now = life.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if all(now > (send_before_at or "") for send_before_at, _ in rows):
        life.fail(f"late: {name} sends post {number} to {network} after the time of its intent")


def check_pauses(life: Life, post: PublishedPost) -> None:
    """A post whose first intent was committed while its gate was paused must not go out."""
    account = life.oracle.find_account(post)
    [*promises] = life.oracle.find_promises(read_number(post.text), account)
    if len(promises) != 1 or promises[0].is_relaxed or promises[0].allowed != 1:
        return
    rows = life.database.ask(FIRST_INTENT, str(promises[0].job))
    if not rows:
        return
    job = str(promises[0].job)
    intended_at, brand = rows[0][0], next((brand for (brand,) in life.database.ask(BRAND, job)), None)
    for (scope, name), since in life.oracle.held.items():
        holds = (scope, name) in (("all", ""), ("account", account), ("channel", post.network), ("brand", brand))
        if holds and intended_at > since.strftime("%Y-%m-%dT%H:%M:%S.%fZ"):
            life.fail(f"paused: post {promises[0].number} of {account} was sent although {scope} {name} is paused")


def check_after_act(life: Life) -> None:
    """Check what would take too long after each transaction."""
    if life.failures:
        return
    check_cooldowns(life)
    check_quotas(life)
    check_tokens(life)
    check_dead_letters(life)
    if not life.restores and life.database.ask(SETTINGS) != life.settings:
        life.fail("settings: a process has changed the settings of all")
    if life.chance_to_look.random() < SHARE_EXPLAINED:
        check_explanations(life)


def check_cooldowns(life: Life) -> None:
    """A rate limit closes an account as long as its network asked for, or a minute if it did not say."""
    for account, since_at, until_at in life.database.ask(COOLDOWNS):
        count = sum(
            count for (network, place), count in life.sandbox.limits_without_time.items()
            if life.oracle.find_name(network, place) == account or (not place and account.startswith(network))
        )  # fmt: skip
        longest = DEFAULT_COOLDOWN * 2 ** (count - 1) if count else LONGEST_HINT
        if datetime.fromisoformat(until_at) - datetime.fromisoformat(since_at) > longest + LONGEST_HINT + MAX_SKEW:
            life.fail(f"cooldown: {account} is closed from {since_at} until {until_at}")


def check_tokens(life: Life) -> None:
    """No account that was reconnected with credentials that work counts as expired."""
    for (account,) in life.database.ask("SELECT id FROM postino_accounts WHERE state = 'token_expired'"):
        if account in life.reconnected:
            life.fail(f"expired: {account} was reconnected with credentials that work, and counts as expired")


def check_dead_letters(life: Life) -> None:
    """No post fails for good: its content is valid, and whatever is wrong with its account can be mended."""
    for account, why in life.database.ask(
        "SELECT account, last_error FROM postino_dead_letters WHERE cause = 'permanent'"
    ):
        life.fail(f"given up: a post of {account} is a dead letter, although its content is valid: {why}")


def check_quotas(life: Life) -> None:
    """No account sends more posts within the period of a quota than it allows. Networks may process them late."""
    if not life.swarm.has_quotas or life.restores:
        return
    times: dict[tuple[str, str], list[datetime]] = {}
    for post in life.oracle.published:
        for payer in (post.account, ""):
            times.setdefault((post.network, payer), []).append(life.left_at[id(post.request)])
    for (network, account), all_times in times.items():
        for quota in site.QUOTAS.get(network, ()):
            if (quota.whose is Scope.CHANNEL) is bool(account):
                continue
            assert quota.period is not None
            for first, later in zip(sorted(all_times), sorted(all_times)[quota.most :], strict=False):
                if later - first < quota.period:
                    life.fail(f"quota: {network}:{account} has more than {quota.name}")


def check_secrets(life: Life) -> None:
    """No credential is readable in the database or in what was told."""
    [*accounts] = life.sandbox.connection.execute("SELECT credentials FROM accounts")
    everything = life.database.connection.serialize("main") + "\n".join(it for _, it in life.story).encode()
    for (credentials,) in accounts:
        for name, value in json.loads(credentials).items():
            is_public = name in ("handle", "identifier", "chat_id", "did") or len(value) < 12
            if not is_public and value.encode() in everything:
                life.fail(f"secret: the {name} of an account is readable")
