"""Render gates, blackouts and circuit breakers."""

from typing import Any

from postino.api.views.fields import render_fields
from postino.client.types.gates import CircuitView, GateView
from postino.engine.gate_control import BlackoutPreview
from postino.rules.blackout import Blackout, describe_blackout
from postino.rules.blackout import render_blackout as render_blackout_fields
from postino.rules.circuit_breaker import Breaker
from postino.rules.gates import describe_closed_gate
from postino.values.gate import Gate


def render_gate(gate: Gate) -> GateView:
    view: GateView = render_fields(gate) | {"sentence": describe_closed_gate(gate)}
    return view


def render_blackout(blackout: Blackout) -> dict[str, Any]:
    return render_blackout_fields(blackout) | {"sentence": describe_blackout(blackout)}


def render_blackout_impact(impact: BlackoutPreview) -> dict[str, Any]:
    return {"shifts": [render_fields(it) for it in impact.first], "more": impact.more, "complete": impact.complete}


def render_circuit(breaker: Breaker) -> CircuitView:
    view: CircuitView = render_fields(breaker) | {"failures": len(breaker.failures)}
    return view
