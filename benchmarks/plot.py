"""Draw bars as SVG, without a plotting library."""

from collections.abc import Sequence
from html import escape

from benchmarks.results import Result
from benchmarks.subjects import SUBJECTS, Role
from benchmarks.table import number
from benchmarks.workload import Figure

WIDTH, NAMES, BARS, LINE, TOP = 900, 170, 560, 26, 40
COLOURS = {Role.OURS: "#c2410c", Role.PEER: "#64748b", Role.LIMIT: "#cbd5e1"}
STYLE = "text { font: 13px sans-serif; fill: #334155 } .title { font-weight: bold } .small { fill: #64748b }"


def svg(results: Sequence[Result]) -> str:
    """Return one group of bars for each figure; the line over a bar spans its lowest and highest round."""
    parts: list[str] = []
    top = TOP
    for result in results:
        for figure in result.workload.figures:
            bars = group(result, figure, top)
            if bars:
                parts += bars
                top += LINE * (len(bars) + 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def group(result: Result, figure: Figure, top: int) -> list[str]:
    measured = {name: values for name in result.workload.contestants if (values := result.values(name, figure))}
    most = max((max(values) for values in measured.values()), default=0)
    if not most:
        return []
    better = "more is better" if figure.more_is_better else "less is better"
    heading = escape(f"{result.workload.title}: {figure.title}")
    note = f'<tspan class="small" font-weight="normal">({escape(figure.unit)}, {better})</tspan>'
    parts = [f'<text x="10" y="{top - 14}" class="title">{heading} {note}</text>']
    for index, (name, values) in enumerate(measured.items()):
        median = result.median(name, figure) or 0
        parts.append(bar(name, median, min(values), max(values), BARS / most, top + index * LINE))
    return parts


def bar(name: str, median: float, low: float, high: float, scale: float, top: int) -> str:
    subject = SUBJECTS[name]
    middle = top + 9
    return (
        f'<text x="{NAMES - 8}" y="{top + 14}" text-anchor="end">{escape(subject.title)}</text>'
        f'<rect x="{NAMES}" y="{top}" width="{median * scale:.1f}" height="18" fill="{COLOURS[subject.role]}"/>'
        f'<line x1="{NAMES + low * scale:.1f}" x2="{NAMES + high * scale:.1f}" y1="{middle}" y2="{middle}" '
        f'stroke="#0f172a" stroke-width="2"/>'
        f'<text x="{NAMES + high * scale + 8:.1f}" y="{top + 14}">{number(median)}</text>'
    )
