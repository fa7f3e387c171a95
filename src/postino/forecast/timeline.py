"""A simulation as a picture: a line for each account, a bar for each run, bands where nothing may run. SVG, by hand."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from xml.sax.saxutils import escape, quoteattr
from zoneinfo import ZoneInfo

from postino.forecast.result import Forecast, ForecastJob, UnstartedJob
from postino.rules.gates import describe_closed_gate
from postino.values.gate import Gate, GateKind, Scope

WIDTH, GUTTER, MARGIN, TOP, ROW, BAR, FOOT = 1200, 210, 28, 116, 30, 16, 36
SHORTEST_BAR = 4.0
MOST_ROWS, MOST_TICKS, MOST_TRACKS, LONGEST_LABEL = 80, 12, 4, 28
COLOURS = ("#6c8fd6", "#5fae94", "#dfa067", "#a98bc9", "#d98395", "#58a9b8", "#9aa765", "#8a96ab")
INK, FAINT, GRID, PAPER, STRIPE = "#2b3444", "#6b7688", "#e4e8ef", "#ffffff", "#f7f9fc"
BANDS = {
    GateKind.BLACKOUT: ("url(#hatched)", "blackout"),
    GateKind.BREAKER: ("#e5484d3d", "network in trouble"),
    GateKind.COOL_DOWN: ("#e9a23b40", "cool-down"),
    GateKind.QUOTA: ("#a98bc940", "quota used up"),
    GateKind.PAUSE: ("#8a96ab40", "paused"),
    GateKind.TOKEN: ("#8a96ab40", "to be connected again"),
}
STEPS = [
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 43200)
]
FONTS = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
BROKEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what no XML may hold
HATCHED = (
    '<defs><pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="8" height="8" fill="#eef1f6"/><rect width="3" height="8" fill="#c9d1de"/></pattern></defs>'
)


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """What runs in one line, and whose it is."""

    channel: str
    account: str | None
    jobs: tuple[ForecastJob | UnstartedJob, ...]

    def is_held_by(self, gate: Gate) -> bool:
        match gate.scope:
            case Scope.ALL:
                return True
            case Scope.CHANNEL:
                return gate.name == self.channel
            case Scope.ACCOUNT:
                return gate.name == self.account
            case Scope.BRAND:
                return {gate.name} == {job.brand for job in self.jobs}
            case Scope.QUEUE:
                return {gate.name} == {job.queue.label for job in self.jobs}


def render_svg(forecast: Forecast, zone: ZoneInfo) -> str:
    """The whole document."""
    return "\n".join(Timeline(forecast, zone).lines())


class Timeline:
    def __init__(self, forecast: Forecast, zone: ZoneInfo) -> None:
        self.forecast = forecast
        self.zone = zone
        self.rows = rows_of(forecast)
        self.bottom = TOP + ROW * max(1, len(self.rows))
        self.lasts = forecast.until_at - forecast.from_at
        channels = sorted({row.channel for row in self.rows})
        self.colours = {channel: COLOURS[number % len(COLOURS)] for number, channel in enumerate(channels)}
        self.ends_at = self.bottom + 30  # with the last line of the legend
        self.key = [*self.legend()]

    def lines(self) -> Iterator[str]:
        height = self.ends_at + FOOT
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
            f' role="img" aria-labelledby="title summary" font-family="{FONTS}">'
        )
        yield f'<title id="title">{xml(self.title())}</title><desc id="summary">{xml(self.summary())}</desc>{HATCHED}'
        yield f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>'
        yield text(MARGIN, 38, self.title(), size=20, weight=600)
        yield text(MARGIN, 60, self.summary(), size=13, fill=FAINT)
        for number, row in enumerate(self.rows):
            yield from self.ground(row, TOP + ROW * number, striped=number % 2 == 0)
        yield from self.axis()
        for number, row in enumerate(self.rows):
            yield from self.row(row, TOP + ROW * number)
        if not self.rows:
            yield text(GUTTER + 12, TOP + ROW / 2 + 5, "Nothing is due in this time.", fill=FAINT)
        yield from self.key
        yield "</svg>"

    def title(self) -> str:
        since, until = self.local(self.forecast.from_at), self.local(self.forecast.until_at)
        same_day = since.date() == until.date()
        return (
            f"What would run, {since:%a %-d %b %Y %H:%M} – {until:%H:%M}"
            if same_day
            else (f"What would run, {since:%a %-d %b %Y %H:%M} – {until:%a %-d %b %Y %H:%M}")
        )

    def summary(self) -> str:
        ran, left = len(self.forecast.ran), len(self.forecast.left)
        latest = max((one.late_by for one in self.forecast.ran), default=timedelta(0))
        workers, slots = self.forecast.workers, self.forecast.slots
        return (
            f"{ran:,} {'job runs' if ran == 1 else 'jobs run'}, {left:,} left over; the latest is"
            f" {duration(latest)} late. {workers} × {slots} slots. Times of {self.zone.key}."
        )

    def local(self, at: datetime) -> datetime:
        return at.astimezone(self.zone)

    def x(self, at: datetime) -> float:
        """Where an instant is; what lies outside is at the edge."""
        share = (at - self.forecast.from_at) / self.lasts
        return GUTTER + min(max(share, 0.0), 1.0) * (WIDTH - GUTTER - MARGIN)

    def ground(self, row: TimelineRow, y: float, *, striped: bool) -> Iterator[str]:
        if striped:
            yield rect(MARGIN - 12, y, WIDTH - 2 * MARGIN + 24, ROW, STRIPE)
        for gate in self.forecast.gates:
            if row.is_held_by(gate):
                left = self.x(gate.since_at or self.forecast.from_at)
                width = self.x(gate.until_at or self.forecast.until_at) - left
                if width > 0:
                    yield titled(describe_closed_gate(gate), rect(left, y + 1, width, ROW - 2, BANDS[gate.kind][0]))

    def axis(self) -> Iterator[str]:
        previous = None
        for at in self.ticks():
            here, x = self.local(at), self.x(at)
            yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{self.bottom}" stroke="{GRID}"/>'
            yield text(x, TOP - 14, f"{here:%H:%M}", size=12, fill=INK if here.hour == 0 else FAINT, anchor="middle")
            if here.date() != previous:
                yield text(x, TOP - 29, f"{here:%a %-d %b}", size=11, fill=INK, anchor="middle", weight=600)
            previous = here.date()

    def ticks(self) -> list[datetime]:
        """Whole hours and days as the clocks of the zone show them."""
        step = next((step for step in STEPS if self.lasts / step <= MOST_TICKS), STEPS[-1])
        midnight = self.local(self.forecast.from_at).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        found: list[datetime] = []
        for number in range(int((self.lasts + timedelta(days=2)) / step) + 2):
            at = (midnight + number * step).replace(tzinfo=self.zone)
            if self.forecast.from_at <= at <= self.forecast.until_at:
                found.append(at)
        return found

    def row(self, row: TimelineRow, y: float) -> Iterator[str]:
        label = row.account or row.channel
        shown = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
        yield titled(label, text(MARGIN, y + ROW / 2 + 4.5, shown, size=13))
        bars = sorted((job for job in row.jobs if isinstance(job, ForecastJob)), key=lambda ran: ran.started_at)
        tracks = self.tracks(bars)
        height = BAR / (max(tracks, default=0) + 1)
        for ran, track in zip(bars, tracks, strict=True):
            yield self.bar(ran, y + (ROW - BAR) / 2 + track * height, height)
        for job in row.jobs:
            if isinstance(job, UnstartedJob):
                yield self.left(job, y)

    def tracks(self, bars: Sequence[ForecastJob]) -> list[int]:
        """Which of few lines within the row each bar gets, so that those at the same time lie below each other."""
        free_from = [0.0] * MOST_TRACKS
        found: list[int] = []
        for ran in bars:
            start, end = self.span(ran)
            track = next((track for track, x in enumerate(free_from) if x <= start), len(found) % MOST_TRACKS)
            free_from[track] = max(end, free_from[track])
            found.append(track)
        return found

    def span(self, ran: ForecastJob) -> tuple[float, float]:
        start = self.x(ran.started_at)
        return start, max(start + SHORTEST_BAR, self.x(ran.ended_at))

    def bar(self, ran: ForecastJob, y: float, height: float) -> str:
        (start, end), colour = self.span(ran), self.colours[ran.channel]
        due, middle = self.x(max(ran.scheduled_at, self.forecast.from_at)), y + height / 2
        waits = " ".join(wait.sentence for wait in ran.waited_for)
        when = f"{self.local(ran.started_at):%a %-d %b %H:%M:%S} – {self.local(ran.ended_at):%H:%M:%S}"
        late = f", {duration(ran.late_by)} late. {waits}" if ran.late_by >= timedelta(seconds=1) else ""
        shape = rect(start, y, end - start, height, colour, round_by=min(3, int(height / 3)))
        if start - due > 1:
            line = f'<line x1="{due:.1f}" y1="{middle}" x2="{start:.1f}" y2="{middle}" stroke="{colour}"'
            shape = f'{line} stroke-width="2" stroke-dasharray="2 3"/>{shape}'
        return titled(f"{ran.type} {ran.job_id} on {ran.channel}: {when}{late}", shape)

    def left(self, left: UnstartedJob, y: float) -> str:
        x, middle = self.x(left.scheduled_at), y + ROW / 2
        colour = self.colours[left.channel]
        shape = f'<circle cx="{x:.1f}" cy="{middle}" r="5" fill="{PAPER}" stroke="{colour}" stroke-width="2"/>'
        waits = " ".join(wait.sentence for wait in left.waits_for)
        due = f"{self.local(left.scheduled_at):%a %-d %b %H:%M:%S}"
        return titled(f"{left.type} {left.job_id} on {left.channel}, due {due}, would not have run: {waits}", shape)

    def legend(self) -> Iterator[str]:
        x, y = float(MARGIN), self.ends_at
        kinds = dict.fromkeys(gate.kind for gate in self.forecast.gates)
        entries = [(colour, channel, 3) for channel, colour in self.colours.items()]
        entries += [(*BANDS[kind], 0) for kind in BANDS if kind in kinds]
        if self.forecast.left:
            entries.append(("", "due, and would not have run", 0))
        for fill, label, round_by in entries:
            if x > WIDTH - 220:
                x, y = float(MARGIN), y + 22
                self.ends_at = y
            hollow = f'<circle cx="{x + 7:.1f}" cy="{y - 4}" r="5" fill="{PAPER}" stroke="{FAINT}" stroke-width="2"/>'
            yield rect(x, y - 11, 14, 14, fill, round_by=round_by) if fill else hollow
            yield text(x + 21, y, label, size=12, fill=FAINT)
            x += 44 + 7 * len(label)


def rows_of(forecast: Forecast) -> Sequence[TimelineRow]:
    """A line for each account; for each channel where those would be too many."""
    by_account: dict[tuple[str, str | None], list[ForecastJob | UnstartedJob]] = {}
    jobs: list[ForecastJob | UnstartedJob] = [*forecast.ran, *forecast.left]
    for job in jobs:
        by_account.setdefault((job.channel, job.account), []).append(job)
    if len(by_account) > MOST_ROWS:
        by_channel: dict[tuple[str, str | None], list[ForecastJob | UnstartedJob]] = {}
        for job in jobs:
            by_channel.setdefault((job.channel, None), []).append(job)
        by_account = by_channel
    places = sorted(by_account, key=lambda place: (place[0], place[1] or ""))
    return [TimelineRow(channel, account, tuple(by_account[channel, account])) for channel, account in places]


def duration(lasts: timedelta) -> str:
    seconds = round(lasts.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def rect(x: float, y: float, width: float, height: float, fill: str, *, round_by: int = 0) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="{round_by}" fill="{fill}"/>'


def text(
    x: float, y: float, said: str, *, size: int = 13, fill: str = INK, weight: int = 400, anchor: str = "start"
) -> str:
    style = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{xml(said)}</text>'


def titled(said: str, shape: str) -> str:
    return f"<g aria-label={quoteattr(BROKEN.sub('�', said))}><title>{xml(said)}</title>{shape}</g>"


def xml(said: str) -> str:
    return escape(BROKEN.sub("�", said))
