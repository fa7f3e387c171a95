"""Summarise fuzz runs: requests, violations, and the responses of each route."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.api.openapi_check import document
from tests.fuzz.runner import NEVER_ENDS, CallerKind, FuzzResult

CLASSES = ("2xx", "4xx", "5xx")


def routes() -> list[str]:
    paths = document()["paths"]
    return [f"{method.upper()} {path}" for path in paths for method in paths[path] if path != NEVER_ENDS]


def count_by_route(results: Iterable[FuzzResult]) -> Mapping[str, Mapping[str, int]]:
    """Count the responses of each class for every route, without those to unsupported methods."""
    counts: dict[str, Counter[str]] = {route: Counter(dict.fromkeys(CLASSES, 0)) for route in routes()}
    for one in results:
        for (route, status), count in one.answered.items():
            if route in counts and status != 405:
                counts[route][f"{status // 100}xx"] += count
    return counts


def list_unsuccessful_routes(results: Iterable[FuzzResult]) -> list[str]:
    return [route for route, counts in count_by_route(results).items() if not counts["2xx"]]


def list_unseen_statuses(results: Sequence[FuzzResult]) -> dict[str, list[int]]:
    """Return the documented statuses that no response had, except those that cannot occur here."""
    answered = {response for one in results for response in one.answered}
    missing: dict[str, list[int]] = defaultdict(list)
    for route in routes():
        method, _, path = route.partition(" ")
        for status in document()["paths"][path][method.lower()]["responses"]:
            if int(status) not in (408, 413, 429, 503) and (route, int(status)) not in answered:
                missing[route].append(int(status))
    return dict(missing)


def summarise(runs: Sequence[tuple[str, FuzzResult]], troubles: Sequence[str]) -> dict[str, Any]:
    results = [one for _, one in runs]
    statuses = sum((Counter(one.answered) for one in results), Counter[tuple[str, int]]())
    classes = Counter[str]()
    for (_, status), count in statuses.items():
        classes[f"{status // 100}xx"] += count
    unwell = list_unsuccessful_routes(results) if CallerKind.OWNER in [one.whose for one in results] else []
    return {
        "calls": sum(one.calls for one in results),
        **{f"calls on {name}": sum(one.calls for it, one in runs if it == name) for name in dict(runs)},
        **{f"calls by {whose}": sum(one.calls for one in results if one.whose is whose) for whose in CallerKind},
        **{f"answers {name}": classes[name] for name in sorted(classes)},
        "operations": max(one.operations for one in results),
        "links": max(one.links for one in results),
        "violations": dict(sum((Counter(one.failures) for one in results), Counter[str]())),
        "errors": sum(one.errors for one in results),
        "server errors in the log": len(troubles),
        "routes that never went well": unwell,
        "clean": all(one.clean for one in results) and not troubles and not unwell,
    }
