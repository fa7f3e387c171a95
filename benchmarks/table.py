"""Print the figures as a table: Postino, its peers, the limits and the targets."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.results import OURS, Result, Verdict
from benchmarks.subjects import SUBJECTS
from benchmarks.workload import BEST_PEER, Figure


def show(console: Console, results: Sequence[Result]) -> None:
    table = Table(title="Postino beside its peers: medians, with the lowest and highest round", show_lines=True)
    for heading in ("workload", "figure", "Postino", "others", "ratio", "target", "met?"):
        table.add_column(heading, overflow="fold")
    for result in results:
        for index, figure in enumerate(result.workload.figures):
            verdicts = result.verdicts(figure)
            table.add_row(
                f"[b]{result.workload.name}[/b]\n{result.workload.title}" if index == 0 else "",
                f"{figure.title}\n{figure.unit}",
                spread(result, OURS, figure),
                "\n".join(other(result, name, figure) for name in result.workload.contestants if name != OURS),
                "\n".join(ratio(verdict) for verdict in verdicts),
                "\n".join(target(figure, verdict) for verdict in verdicts),
                "\n".join(met(verdict) for verdict in verdicts),
            )
    console.print(table)
    for result in results:
        for name, why in result.missing.items():
            console.print(f"missing in {result.workload.name}: {SUBJECTS[name].title}: {why}", markup=False)


def other(result: Result, name: str, figure: Figure) -> str:
    return f"{SUBJECTS[name].title} {spread(result, name, figure)}"


def spread(result: Result, name: str, figure: Figure) -> str:
    values = result.values(name, figure)
    median = result.median(name, figure)
    if median is None:
        return "missing" if name in result.missing else "not asked"
    if min(values) == max(values):
        return number(median)
    return f"{number(median)} ({number(min(values))}–{number(max(values))})"


def ratio(verdict: Verdict) -> str:
    if verdict.target.of is None:
        return ""
    return f"{verdict.ratio:.2f}×" if verdict.ratio is not None else "?"


def target(figure: Figure, verdict: Verdict) -> str:
    sign = "≥" if figure.more_is_better else "≤"
    bound, of = verdict.target.bound, verdict.target.of
    if of is None:
        return f"{sign} {number(bound)}"
    return f"{sign} {bound:g}× {of if of == BEST_PEER else SUBJECTS[of].title}"


def met(verdict: Verdict) -> str:
    return {True: "[green]yes[/green]", False: "[red]no[/red]", None: "?"}[verdict.met]


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"
