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


def by_route(found: Iterable[FuzzResult]) -> Mapping[str, Mapping[str, int]]:
    """How many answers of each class every route gave; those to methods that are not there are told apart."""
    told: dict[str, Counter[str]] = {route: Counter(dict.fromkeys(CLASSES, 0)) for route in routes()}
    for one in found:
        for (route, status), count in one.answered.items():
            if route in told and status != 405:
                told[route][f"{status // 100}xx"] += count
    return told


def never_well(found: Iterable[FuzzResult]) -> list[str]:
    return [route for route, told in by_route(found).items() if not told["2xx"]]


def never_seen(found: Sequence[FuzzResult]) -> dict[str, list[int]]:
    """What is announced and was never answered: nobody asks too often, too slowly or without a database here."""
    seen = {asked for one in found for asked in one.answered}
    missing: dict[str, list[int]] = defaultdict(list)
    for route in routes():
        method, _, path = route.partition(" ")
        for status in document()["paths"][path][method.lower()]["responses"]:
            if int(status) not in (408, 413, 429, 503) and (route, int(status)) not in seen:
                missing[route].append(int(status))
    return dict(missing)


def summarise(runs: Sequence[tuple[str, FuzzResult]], troubles: Sequence[str]) -> dict[str, Any]:
    found = [one for _, one in runs]
    statuses = sum((Counter(one.answered) for one in found), Counter[tuple[str, int]]())
    classes = Counter[str]()
    for (_, status), count in statuses.items():
        classes[f"{status // 100}xx"] += count
    unwell = never_well(found) if CallerKind.OWNER in [one.whose for one in found] else []
    return {
        "calls": sum(one.calls for one in found),
        **{f"calls on {name}": sum(one.calls for it, one in runs if it == name) for name in dict(runs)},
        **{f"calls by {whose}": sum(one.calls for one in found if one.whose is whose) for whose in CallerKind},
        **{f"answers {name}": classes[name] for name in sorted(classes)},
        "operations": max(one.operations for one in found),
        "links": max(one.links for one in found),
        "violations": dict(sum((Counter(one.failures) for one in found), Counter[str]())),
        "errors": sum(one.errors for one in found),
        "server errors in the log": len(troubles),
        "routes that never went well": unwell,
        "clean": all(one.clean for one in found) and not troubles and not unwell,
    }
