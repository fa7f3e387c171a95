"""Run Schemathesis over the whole API for one caller, and return the result."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.api.openapi_check import forbid_extra_fields
from tests.documents import ROOT
from tests.fuzz.known_values import list_known_by_operation, list_known_values
from tests.fuzz.seed_data import MARK, SeedData
from tests.fuzz.target import Target
from tests.fuzz.valid_requests import list_valid_requests

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "requests_without_key_get_401",
    "other_brands_are_not_revealed",
)
# Without a key nothing succeeds, and even an unsupported method may get 401.
WITH_A_KEY = (
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
    "ensure_resource_availability",
    "negative_data_rejection",
)
# Off: positive_data_acceptance, since a valid request may name an id that does not exist or has ended; and
# object_level_authorization, because `other_brands_are_not_revealed` checks every response instead.
NEVER_ENDS = "/v1/events"  # a stream, which has its own tests
# Responses must not influence requests, except in the stateful phase: ids differ in each run, and the seed alone must
# determine the requests. The hooks know the existing ids.
SETTINGS = """
[generation]
max-examples = {}
[phases.coverage]
extra-data-sources.responses = false
[phases.fuzzing]
extra-data-sources.responses = false
error-feedback.enabled = false
[phases.stateful.generation]
max-examples = {}
"""
PHASES = "examples,coverage,fuzzing,stateful"


class CallerKind(StrEnum):
    """The caller: without a key, an editor of one brand, or an owner."""

    NOBODY = "nobody"
    EDITOR = "editor"
    OWNER = "owner"


@dataclass(frozen=True)
class FuzzResult:
    """The result of a run; `complete` means that every operation was called in every phase."""

    whose: CallerKind
    calls: int
    operations: int
    seconds: float
    failures: Mapping[str, int]
    errors: int
    complete: bool
    links: int  # links from a response to a next request that were followed
    answered: Mapping[tuple[str, int], int]
    output: str

    @property
    def clean(self) -> bool:
        return self.complete and not self.failures and not self.errors


def run_fuzzer(
    target: Target,
    folder: Path,
    world: SeedData,
    whose: CallerKind,
    *,
    seed: int,
    examples: int,
    stories: int,
    only: Sequence[str] = (),
    change_document: Callable[[Any], Any] = forbid_extra_fields,
) -> FuzzResult:
    """Run the fuzzer on all paths, or on `only` these; `change_document` edits the OpenAPI document first."""
    (folder / "schemathesis.toml").write_text(SETTINGS.format(examples, stories))
    document, asking, report = (folder / f"{whose}-{name}.json" for name in ("openapi", "asking", "report"))
    document.write_text(json.dumps(forbid_extra_fields(change_document(target.api.get("/v1/openapi.json")))))
    asking.write_text(json.dumps(build_hook_data(world, whose, folder)))
    checks = CHECKS if whose is CallerKind.NOBODY else (*CHECKS, *WITH_A_KEY)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", target.ready["url"], "--no-color"),
        *("--phases", PHASES, "--checks", ",".join(checks), "--exclude-path", NEVER_ENDS),
        *("--seed", str(seed), "--workers", "1", "--continue-on-failure", "--warnings", "off"),
        *("--generation-database", "none", "--suppress-health-check", "all", "--request-timeout", "30"),
        *("--report-json-path", str(report)),
    ]
    command += [word for path in only for word in ("--include-path", path)]
    if whose is not CallerKind.NOBODY:
        client = target.api if whose is CallerKind.OWNER else world.restricted
        command += ["--header", f"Authorization: {client.headers['Authorization']}"]
    surroundings = os.environ | {
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        "POSTINO_FUZZ_ASKING": str(asking),
        "PYTHONPATH": str(ROOT),
    }
    run = subprocess.run(command, env=surroundings, cwd=folder, capture_output=True, text=True, check=False)
    assert report.exists(), run.stdout + run.stderr
    answered = json.loads((folder / f"{whose}-answered.json").read_text())
    return parse_report(whose, json.loads(report.read_text()), answered, run.stdout)


def build_hook_data(world: SeedData, whose: CallerKind, folder: Path) -> dict[str, Any]:
    """Return the data of the hooks: an owner uses the ids of one brand, an editor those of its own brand."""
    stock = world.other_stock if whose is CallerKind.OWNER else world.own_stock
    return {
        "whose": whose,
        "known": list_known_values(world, stock),
        "known_for": list_known_by_operation(stock),
        "sound": list_valid_requests(world, stock),
        "never_told": None if whose is CallerKind.OWNER else MARK,
        "answered": str(folder / f"{whose}-answered.json"),
    }


def parse_report(whose: CallerKind, report: Any, answered: Any, output: str) -> FuzzResult:
    operations = report["operations"]
    return FuzzResult(
        whose=whose,
        calls=report["test_cases"]["generated"],
        operations=operations["tested"],
        seconds=report["running_time"],
        failures={failure["title"]: failure["count"] for failure in report["failures"]},
        errors=len(report["errors"]) + report["test_cases"]["errored"],
        complete=report["complete"] and operations["tested"] == operations["selected"],
        links=int(gone[1]) if (gone := re.search(r"API Links:\s+(\d+) covered", output)) else 0,
        answered=Counter({(label, status): count for label, status, count in answered}),
        output=output,
    )
