"""Why something has not run, as the API and `--json` show it."""

from datetime import datetime
from typing import Any

from postino.publishing.shapes import plain, plain_fields
from postino.rules.explain import Evaluation, Explanation


def of_explanation(told: Explanation) -> dict[str, Any]:
    return {
        "sentence": told.sentence,
        "runnable": told.runnable,
        "eta": plain(told.eta),
        "blockers": [plain_fields(blocker) for blocker in told.blockers],
    }


def of_evaluation(channel: str, run_at: datetime, evaluation: Evaluation) -> dict[str, Any]:
    blockers = [plain_fields(blocker) for blocker in evaluation.blockers]
    return {
        "channel": channel,
        "run_at": plain(run_at),
        "evaluation": plain_fields(evaluation) | {"blockers": blockers},
    }
