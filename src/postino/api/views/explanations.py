"""Render explanations of why a job has not run, and evaluations of whether one could."""

from datetime import datetime
from typing import Any

from postino.api.views.fields import omit, render_fields, to_json
from postino.client.types.explain import BlockerView, ExplanationView
from postino.rules.blockers import Blocker
from postino.rules.explain import Evaluation, Explanation


def render_explanation(explanation: Explanation) -> ExplanationView:
    return {
        "sentence": explanation.sentence,
        "runnable": explanation.runnable,
        "eta": to_json(explanation.eta),
        "blockers": [render_blocker(blocker) for blocker in explanation.blockers],
    }


def render_blocker(blocker: Blocker) -> BlockerView:
    view: BlockerView = omit(render_fields(blocker), "ending")
    return view


def render_evaluation(channel: str, run_at: datetime, evaluation: Evaluation) -> dict[str, Any]:
    blockers = [render_blocker(blocker) for blocker in evaluation.blockers]
    return {
        "channel": channel,
        "run_at": to_json(run_at),
        "evaluation": render_fields(evaluation) | {"blockers": blockers},
    }
