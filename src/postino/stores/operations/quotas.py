"""What networks let one publish in a period: reserved before a call, taken back if it never left."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postino.rules.gates import FOREVER
from postino.rules.quota import Quota, Spent, cost_of, free_at, since
from postino.stores.operations.gates import shut
from postino.stores.statement import Operation, ask, each
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job


def spend(job: Job, step: str, number: int, quotas: Sequence[Quota]) -> Operation[Gate | None]:
    """None: it is reserved. Otherwise the gate that is closed until there is room, and nothing is."""
    if any(quota.whose is Scope.CHANNEL for quota in quotas):
        yield ask("lock_quotas", channel=job.channel)
    now = (yield ask("clock"))[0]["now_at"]
    ours = {"job_id": job.id, "step": step, "number": number, "spent_on": job.channel}
    wanted = [want(quota, job, step, now) for quota in quotas]
    full = {row["quota"] for row in (yield each("full_quotas", wanted, **ours))}
    if not full:
        yield each("spend", wanted, **ours)
        return None
    last: Gate | None = None
    for quota in quotas:
        if quota.name in full:
            gate = yield from used_up(quota, job, step, now)
            last = gate if last is None or until(gate) > until(last) else last
    return last


def until(gate: Gate) -> datetime:
    return gate.until_at or FOREVER


def want(quota: Quota, job: Job, step: str, now: datetime) -> dict[str, Any]:
    return {
        "quota": quota.name,
        "account": payer(quota, job),
        "cost": cost_of(quota, step),
        "most": quota.most,
        "since_at": since(quota, now),
    }


def payer(quota: Quota, job: Job) -> str:
    """Whose it is: an account's, or that of all together."""
    return (job.account or "") if quota.whose is Scope.ACCOUNT else ""


def used_up(quota: Quota, job: Job, step: str, now: datetime) -> Operation[Gate]:
    wanted = want(quota, job, step, now)
    asked = {name: wanted[name] for name in ("quota", "account", "since_at")}
    spent = [Spent(row["at"], row["cost"]) for row in (yield ask("spent", spent_on=job.channel, **asked))]
    until_at = free_at(quota, spent, wanted["cost"], now)
    name = job.account if quota.whose is Scope.ACCOUNT and job.account else job.channel
    reason = f"{quota.name}: {quota.most} is all there is in this period."
    return (yield from shut(quota.whose, name, GateKind.QUOTA, until_at, reason))


def unspend(job: Job, step: str, number: int) -> Operation[None]:
    yield ask("unspend", job_id=job.id, step=step, number=number)
