"""What networks let one publish in a period: reserved before a call, taken back if it never left."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postino.rules.gates import FOREVER
from postino.rules.quota import Quota, Spent, cost_of, free_at, since
from postino.stores.operations.gates import close_gate
from postino.stores.records import QuotaUsageFilter
from postino.stores.statement import Operation, ask, each
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job


def reserve_quota(job: Job, step: str, number: int, quotas: Sequence[Quota]) -> Operation[Gate | None]:
    """None: it is reserved. Otherwise the gate that is closed until there is room, and nothing is."""
    if any(quota.whose is Scope.CHANNEL for quota in quotas):
        yield ask("lock_quotas", channel=job.channel)
    now = (yield ask("get_time"))[0]["now_at"]
    ours = {"job_id": job.id, "step": step, "number": number, "spent_on": job.channel}
    wanted = [make_quota_params(quota, job, step, now) for quota in quotas]
    full = {row["quota"] for row in (yield each("find_full_quotas", wanted, **ours))}
    if not full:
        yield each("insert_quota_usage", wanted, **ours)
        return None
    last: Gate | None = None
    for quota in quotas:
        if quota.name in full:
            gate = yield from close_quota_gate(quota, job, step, now)
            last = gate if last is None or get_end(gate) > get_end(last) else last
    return last


def get_end(gate: Gate) -> datetime:
    return gate.until_at or FOREVER


def make_quota_params(quota: Quota, job: Job, step: str, now: datetime) -> dict[str, Any]:
    return {
        "quota": quota.name,
        "account": get_payer(quota, job),
        "cost": cost_of(quota, step),
        "most": quota.most,
        "since_at": since(quota, now),
    }


def get_payer(quota: Quota, job: Job) -> str:
    """Whose it is: an account's, or that of all together."""
    return (job.account or "") if quota.whose is Scope.ACCOUNT else ""


def close_quota_gate(quota: Quota, job: Job, step: str, now: datetime) -> Operation[Gate]:
    wanted = make_quota_params(quota, job, step, now)
    asked = {name: wanted[name] for name in ("quota", "account", "since_at")}
    spent = [Spent(row["at"], row["cost"]) for row in (yield ask("list_quota_usage", spent_on=job.channel, **asked))]
    until_at = free_at(quota, spent, wanted["cost"], now)
    name = job.account if quota.whose is Scope.ACCOUNT and job.account else job.channel
    reason = f"{quota.name}: {quota.most} is all there is in this period."
    return (yield from close_gate(quota.whose, name, GateKind.QUOTA, until_at, reason))


def release_quota(job: Job, step: str, number: int) -> Operation[None]:
    yield ask("delete_quota_usage", job_id=job.id, step=step, number=number)


def read_quota_usage(wanted: Sequence[QuotaUsageFilter]) -> Operation[list[list[Spent]]]:
    all_spent = []
    for one in wanted:
        asked = {"quota": one.quota, "account": one.account, "since_at": one.since_at}
        rows = yield ask("list_quota_usage", spent_on=one.channel, **asked)
        all_spent.append([Spent(row["at"], row["cost"]) for row in rows])
    return all_spent
