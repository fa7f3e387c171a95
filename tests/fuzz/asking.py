"""Schemathesis over the whole API: one run of all its phases, and what it found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.documents import ROOT
from tests.fuzz.household import Target
from tests.fuzz.world import sound_bodies

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "nobody_comes_in_without_a_key",
)
WITH_A_KEY = ("unsupported_method",)  # without one even a method that is not there is answered by 401, now and then
NEVER_ENDS = "/v1/events"  # a stream: it has a test of its own
STORIES = 100  # with fewer hardly an answer leads to another question
SETTINGS = "[generation]\nmax-examples = {}\n[phases.stateful.generation]\nmax-examples = {}\n"
PHASES = "examples,coverage,fuzzing,stateful"


@dataclass(frozen=True)
class Found:
    """`complete`: every operation was asked, in every phase."""

    calls: int
    operations: int
    seconds: float
    failures: Mapping[str, int]
    errors: int
    complete: bool
    links: int  # ways from one answer to the next question that were gone
    said: str

    @property
    def clean(self) -> bool:
        return self.complete and not self.failures and not self.errors


def ask_anything(
    target: Target, folder: Path, *, known: Mapping[str, Any], seed: int, examples: int, with_key: bool
) -> Found:
    stories = max(examples, STORIES) if with_key else examples
    (folder / "schemathesis.toml").write_text(SETTINGS.format(examples, stories))
    checks = (*CHECKS, *WITH_A_KEY) if with_key else CHECKS
    report = folder / f"{'with' if with_key else 'without'}-key-{seed}.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{target.told['url']}/v1/openapi.json", "--no-color"),
        *("--phases", PHASES, "--checks", ",".join(checks), "--exclude-path", NEVER_ENDS),
        *("--seed", str(seed), "--workers", "1", "--continue-on-failure"),
        *("--generation-database", "none", "--suppress-health-check", "all", "--request-timeout", "20"),
        *("--report-json-path", str(report)),
    ]
    if with_key:
        command += ["--header", f"Authorization: {target.api.headers['Authorization']}"]
    surroundings = os.environ | {
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        "POSTINO_FUZZ_KNOWN": json.dumps(known),
        "POSTINO_FUZZ_SOUND": json.dumps(sound_bodies(known["account_id"])),
        "POSTINO_FUZZ_SHUT_OUT": "0" if with_key else "1",
        "PYTHONPATH": str(ROOT),
    }
    run = subprocess.run(command, env=surroundings, cwd=folder, capture_output=True, text=True, check=False)
    assert report.exists(), run.stdout + run.stderr
    return found_in(json.loads(report.read_text()), run.stdout)


def found_in(told: Any, said: str) -> Found:
    operations = told["operations"]
    return Found(
        calls=told["test_cases"]["generated"],
        operations=operations["tested"],
        seconds=told["running_time"],
        failures={failure["title"]: failure["count"] for failure in told["failures"]},
        errors=len(told["errors"]) + told["test_cases"]["errored"],
        complete=told["complete"] and operations["tested"] == operations["selected"],
        links=int(gone[1]) if (gone := re.search(r"API Links:\s+(\d+) covered", said)) else 0,
        said=said,
    )
