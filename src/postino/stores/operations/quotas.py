"""Quotas: a visible call's cost is reserved before its intent and released if the call never left."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postino.rules.gates import FOREVER
from postino.rules.quota import Quota, QuotaUse, find_refill_time, get_cost, get_window_start
from postino.stores.operations.gates import close_gate
from postino.stores.records import QuotaUsageFilter
from postino.stores.statement import Operation, ask, each
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job


def reserve_quota(job: Job, step: str, number: int, quotas: Sequence[Quota]) -> Operation[Gate | None]:
    """Reserve the cost of a call and return None; or reserve nothing and return the gate closed until there is room."""
    if any(quota.whose is Scope.CHANNEL for quota in quotas):
        yield ask("lock_quotas", channel=job.channel)
    now = (yield ask("get_time"))[0]["now_at"]
    call = {"job_id": job.id, "step": step, "number": number, "spent_on": job.channel}
    params = [make_quota_params(quota, job, step, now) for quota in quotas]
    full = {row["quota"] for row in (yield each("find_full_quotas", params, **call))}
    if not full:
        yield each("insert_quota_usage", params, **call)
        return None
    last: Gate | None = None
    for quota in quotas:
        if quota.name in full:
            gate = yield from close_quota_gate(quota, job, step, now)
            last = gate if last is None or get_end(gate) > get_end(last) else last
    return last


def get_end(gate: Gate) -> datetime:
    """Return when a gate opens."""
    return gate.until_at or FOREVER


def make_quota_params(quota: Quota, job: Job, step: str, now: datetime) -> dict[str, Any]:
    """Return one quota's cost for a step as query parameters."""
    return {
        "quota": quota.name,
        "account": get_payer(quota, job),
        "cost": get_cost(quota, step),
        "most": quota.most,
        "since_at": get_window_start(quota, now),
    }


def get_payer(quota: Quota, job: Job) -> str:
    """Return the account that a quota is counted for; empty if all accounts share it."""
    return (job.account or "") if quota.whose is Scope.ACCOUNT else ""


def close_quota_gate(quota: Quota, job: Job, step: str, now: datetime) -> Operation[Gate]:
    """Close the gate of a used-up quota until it has room for the call."""
    params = make_quota_params(quota, job, step, now)
    scope = {name: params[name] for name in ("quota", "account", "since_at")}
    spent = [QuotaUse(row["at"], row["cost"]) for row in (yield ask("list_quota_usage", spent_on=job.channel, **scope))]
    until_at = find_refill_time(quota, spent, params["cost"], now)
    name = job.account if quota.whose is Scope.ACCOUNT and job.account else job.channel
    reason = f"Quota {quota.name} is used up: {quota.most} in this period."
    return (yield from close_gate(quota.whose, name, GateKind.QUOTA, until_at, reason))


def release_quota(job: Job, step: str, number: int) -> Operation[None]:
    """Release what was reserved for a call that never left, unless another worker runs the job and reserves it."""
    yield ask("delete_quota_usage", job_id=job.id, token=job.token, step=step, number=number)


def read_quota_usage(filters: Sequence[QuotaUsageFilter]) -> Operation[list[list[QuotaUse]]]:
    """Return what was spent of each quota since its time."""
    all_spent = []
    for filter_ in filters:
        params = {"quota": filter_.quota, "account": filter_.account, "since_at": filter_.since_at}
        rows = yield ask("list_quota_usage", spent_on=filter_.channel, **params)
        all_spent.append([QuotaUse(row["at"], row["cost"]) for row in rows])
    return all_spent
