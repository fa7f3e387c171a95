"""Render forecasts of which jobs would run when."""

from collections.abc import Iterable
from typing import Any

from postino.api.views.fields import render_fields, to_json
from postino.client.types.forecast import ForecastGateView, ForecastTotalView, ForecastView, ForecastWaitView
from postino.forecast.result import ChannelTotal, Forecast, StartedJob, UnstartedJob, WaitReason
from postino.rules.gates import describe_closed_gate
from postino.values.gate import Gate


def render_forecast(forecast: Forecast) -> ForecastView:
    return {
        "from": to_json(forecast.from_at),
        "until": to_json(forecast.until_at),
        "workers": forecast.workers,
        "slots": forecast.slots,
        "started_jobs": [render_started_job(job) for job in forecast.started_jobs],
        "unstarted_jobs": [render_unstarted_job(job) for job in forecast.unstarted_jobs],
        "totals": [render_total(total) for total in forecast.totals()],
        "gates": [render_gate(gate) for gate in forecast.gates],
        "notes": [*forecast.notes],
    }


def render_started_job(job: StartedJob) -> Any:
    return render_job(job) | {
        "started_at": to_json(job.started_at),
        "ended_at": to_json(job.ended_at),
        "delay_seconds": job.delay.total_seconds(),
        "waited_for": render_waits(job.waited_for),
    }


def render_unstarted_job(job: UnstartedJob) -> Any:
    return render_job(job) | {"waits_for": render_waits(job.waits_for)}


def render_job(job: StartedJob | UnstartedJob) -> dict[str, Any]:
    fields: dict[str, Any] = render_fields(job, "type", "channel", "account", "brand", "queue", "scheduled_at")
    return {"id": to_json(job.job_id)} | fields


def render_waits(waits: Iterable[WaitReason]) -> list[ForecastWaitView]:
    return [render_fields(wait) for wait in waits]


def render_total(total: ChannelTotal) -> ForecastTotalView:
    view: ForecastTotalView = render_fields(total, "channel", "started", "unstarted") | {
        "max_delay_seconds": total.max_delay.total_seconds()
    }
    return view


def render_gate(gate: Gate) -> ForecastGateView:
    view: ForecastGateView = render_fields(gate, "scope", "name", "kind", "since_at", "until_at") | {
        "sentence": describe_closed_gate(gate)
    }
    return view
