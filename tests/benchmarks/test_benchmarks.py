"""The harness measures what it says, whoever takes part. Nothing here depends on how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks.__main__ import main, write
from benchmarks.catalogue import WORKLOADS, chosen
from benchmarks.install import ROOT, Missing, install
from benchmarks.pages import sum_pages
from benchmarks.results import Result
from benchmarks.run import measure
from benchmarks.subjects import SUBJECTS, Role, Subject
from benchmarks.table import show
from benchmarks.workload import BEST_PEER, Figure, Stage, Target, Workload, percentile
from tests.documents import code, table
from tests.servers.postgres import PostgresServer

README = ROOT / "benchmarks" / "README.md"
FIFTY_JOBS = 50 / 20_000


def make_result(figure: Figure, **medians: float) -> Result:
    workload = Workload("made-up", "nothing", tuple(medians), (figure,), lambda stage, installed: {})
    return Result(workload, [(name, {figure.key: value}) for name, value in medians.items()])


@pytest.mark.parametrize("name", ["drain", "bulk"])
def test_a_miniature_run_measures_postino_beside_a_limit(
    name: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    results: list[str] = []
    ready = {name: install(SUBJECTS[name]) for name in ("postino", "raw_pipeline", "raw_copy")}
    stage = Stage(postgres_server, FIFTY_JOBS)
    result = measure(WORKLOADS[name], stage, ready, {"oban": "It is not there."}, 1, results.append)

    measured = [contestant for contestant, figures in result.rounds if figures["rate"] > 0]
    assert measured == [contestant for contestant in WORKLOADS[name].contestants if contestant in ready], results

    write(tmp_path, [result], {"rounds": 1})
    [written] = json.loads((tmp_path / "results.json").read_text())["results"]
    assert written["figures"][0]["contestants"].keys() == set(measured)
    drawn = ElementTree.parse(tmp_path / f"{name}.svg")
    assert "Postino" in "".join(drawn.getroot().itertext())


def test_the_documents_name_every_workload_and_each_can_be_chosen() -> None:
    named = [code(row["workload"]) for row in table(README, "workload", "what is done", "target for Postino")]
    assert named == list(WORKLOADS)
    assert [workload.name for workload in chosen(",".join(named), large=False)] == named
    usual, large = chosen("", large=False), chosen("", large=True)
    assert {workload.name for workload in usual + large} == set(named)


def test_the_documents_name_every_contestant_and_each_has_its_file() -> None:
    assert [code(row["contestant"]) for row in table(README, "contestant", "what it is", "settings")] == list(SUBJECTS)
    for subject in SUBJECTS.values():
        ending = "mjs" if subject.npm else "py"
        assert (ROOT / "benchmarks" / "peers" / f"{subject.name}.{ending}").is_file()
    for workload in WORKLOADS.values():
        assert set(workload.contestants) <= set(SUBJECTS)
        assert {target.of for figure in workload.figures for target in figure.targets} <= {
            None, BEST_PEER, *workload.contestants,
        }  # fmt: skip


@pytest.mark.parametrize("wrong", [["--only", "darin"], ["--peers", "pgqueue"]])
def test_a_wrong_name_is_refused_before_anything_starts(wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="There are: "):
        main(wrong)


def test_a_peer_that_cannot_be_installed_is_reported() -> None:
    with pytest.raises(Missing, match=r"Tomorrow needs Python 3\.99 or newer"):
        install(Subject("tomorrow", "Tomorrow", Role.PEER, pip=("tomorrow",), python=(3, 99)))
    result = make_result(Figure("rate", "rate", "jobs/s", True, (Target(2, "pgqueuer"),)), postino=10, pgqueuer=4)
    result.rounds.pop()
    result.missing["pgqueuer"] = "It does not run here."
    console = Console(record=True, width=160)
    show(console, [result])
    shown = console.export_text()
    assert "PgQueuer missing" in shown
    assert "It does not run here." in shown


@pytest.mark.parametrize(
    ("more_is_better", "target", "medians", "met"),
    [
        (True, Target(2.5, "pgqueuer"), {"postino": 25, "pgqueuer": 10}, True),
        (True, Target(2.5, "pgqueuer"), {"postino": 24, "pgqueuer": 10}, False),
        (True, Target(5_000), {"postino": 5_000}, True),
        (False, Target(0.25, BEST_PEER), {"postino": 50, "pgqueuer": 220, "graphile": 300}, True),
        (False, Target(0.25, BEST_PEER), {"postino": 60, "pgqueuer": 220, "graphile": 300}, False),
        (False, Target(1, BEST_PEER), {"postino": 4, "raw_pipeline": 1}, None),
        (False, Target(0), {"postino": 0}, True),
        (True, Target(1, "graphile"), {"postino": 4}, None),
    ],
)
def test_a_target_is_met_or_not_or_has_nothing_to_compare_with(
    more_is_better: bool, target: Target, medians: dict[str, float], met: bool | None
) -> None:
    figure = Figure("it", "it", "of them", more_is_better, (target,))
    [verdict] = make_result(figure, **medians).verdicts(figure)
    assert verdict.met is met


def test_pages_of_writes_that_nothing_reads_from_are_counted_and_others_only_once() -> None:
    def node(pages: int, *children: dict[str, object], **fields: str) -> dict[str, object]:
        named = {name.replace("_", " "): value for name, value in fields.items()}
        return {"Shared Hit Blocks": pages, "Shared Read Blocks": 0, "Plans": list(children), **named}

    gone = node(30, Subplan_Name="CTE gone")
    finished = node(12, node(0, CTE_Name="gone"), Subplan_Name="CTE finished")
    assert sum_pages(node(31, gone, finished, CTE_Name="gone")) == 31 + 12


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], 0.99) == 100
    assert percentile([7.0], 0.99) == 7
