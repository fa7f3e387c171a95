"""Random requests never get a server error or an undocumented response."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COUNTED
from tests.fuzz.report import CLASSES, count_by_route, list_unsuccessful_routes, routes
from tests.fuzz.runner import CallerKind, FuzzResult, run_fuzzer
from tests.fuzz.seed_data import SeedData, create_seed_data
from tests.fuzz.target import Target

SEED = int(os.environ.get("POSTINO_FUZZ_SEED", "20261116"))
Tell = Callable[[str, object], None]
EXAMPLES, STORIES = 2, 30  # `make fuzz` asks much more
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Target, SeedData]]:
    with Target(tmp_path_factory.mktemp("fuzz") / "data") as target:
        yield target, create_seed_data(target)


def fuzz_as(target: Target, world: SeedData, folder: Path, whose: Sequence[CallerKind], tell: Tell) -> list[FuzzResult]:
    """Run the fuzzer for each caller; record the counts for the end of the test run."""
    results = []
    for who in whose:
        one = run_fuzzer(target, folder, world, who, seed=SEED, examples=EXAMPLES, stories=STORIES)
        counts = [f"{sum(classes[name] for classes in count_by_route([one]).values())} {name}" for name in CLASSES]
        tell(COUNTED, f"fuzz by {who}: {one.calls} calls of {one.operations} routes, {', '.join(counts)}, seed {SEED}")
        assert one.clean, one.output
        results.append(one)
    return results


def test_anonymous_and_brand_limited_callers_get_documented_responses(
    on_sqlite: tuple[Target, SeedData], tmp_path: Path, record_property: Tell
) -> None:
    target, world = on_sqlite
    nobody, editor = fuzz_as(target, world, tmp_path, [CallerKind.NOBODY, CallerKind.EDITOR], record_property)
    well = [route for route in routes() if route not in list_unsuccessful_routes([nobody])]
    assert well == ["GET /health/live", "GET /health/ready", "POST /v1/login", "POST /v1/login/password"]
    assert len(list_unsuccessful_routes([editor])) < len(routes()) // 2
    assert target.list_internal_errors() == []


def test_owner_succeeds_at_every_route_at_least_once(tmp_path: Path, postgres_url: str, record_property: Tell) -> None:
    with Target(tmp_path / "data", postgres_url) as target:
        [owner] = fuzz_as(target, create_seed_data(target), tmp_path, [CallerKind.OWNER], record_property)
        assert owner.links, "no response led to another request: the stateful phase tested nothing"
        assert list_unsuccessful_routes([owner]) == []
        target.kill_group()
        assert target.list_internal_errors() == []


def test_undocumented_field_is_a_violation(on_sqlite: tuple[Target, SeedData], tmp_path: Path) -> None:
    """Prove that the other tests can fail."""
    target, world = on_sqlite

    def remove_fields(document: Any) -> Any:
        del document["components"]["schemas"]["Queues"]["properties"]["caps"]
        document["components"]["schemas"]["Queues"]["required"].remove("caps")
        del document["paths"]["/v1/me"]["get"]["responses"]["200"]
        return document

    only = ("/v1/queues", "/v1/me", "/v1/workers")
    results = run_fuzzer(
        target,
        tmp_path,
        world,
        CallerKind.OWNER,
        seed=SEED,
        examples=1,
        stories=1,
        only=only,
        change_document=remove_fields,
    )
    assert results.operations == len(only)
    assert {*results.failures} == {"Response violates schema", "Undocumented status code"}, results.output
