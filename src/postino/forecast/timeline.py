"""Draws a forecast as SVG: a row for each account, a bar for each job, a band where a gate is closed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from xml.sax.saxutils import escape, quoteattr
from zoneinfo import ZoneInfo

from postino.forecast.result import Forecast, StartedJob, UnstartedJob, WaitReason
from postino.rules.gates import describe_closed_gate
from postino.values.gate import Gate, GateKind, Scope

WIDTH, GUTTER, MARGIN, TOP, ROW, BAR, FOOT = 1200, 210, 28, 116, 30, 16, 36
SHORTEST_BAR = 4.0
MAX_ROWS, MAX_TICKS, MAX_TRACKS, MAX_LABEL = 80, 12, 4, 28
COLOURS = ("#6c8fd6", "#5fae94", "#dfa067", "#a98bc9", "#d98395", "#58a9b8", "#9aa765", "#8a96ab")
INK, FAINT, GRID, PAPER, STRIPE = "#2b3444", "#6b7688", "#e4e8ef", "#ffffff", "#f7f9fc"
BANDS = {
    GateKind.BLACKOUT: ("url(#hatched)", "blackout"),
    GateKind.BREAKER: ("#e5484d3d", "circuit open"),
    GateKind.COOLDOWN: ("#e9a23b40", "cooldown"),
    GateKind.QUOTA: ("#a98bc940", "quota used up"),
    GateKind.PAUSE: ("#8a96ab40", "paused"),
    GateKind.TOKEN: ("#8a96ab40", "reconnect needed"),
    GateKind.DATABASE: ("#8a96ab40", "database not accepted"),
}
STEPS = [
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 43200)
]
FONTS = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
BROKEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML forbids
HATCHED = (
    '<defs><pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="8" height="8" fill="#eef1f6"/><rect width="3" height="8" fill="#c9d1de"/></pattern></defs>'
)


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One row of the drawing: the jobs of an account, or of a channel."""

    channel: str
    account: str | None
    jobs: tuple[StartedJob | UnstartedJob, ...]

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
            case Scope.SERVICE:
                sentence = describe_closed_gate(gate)
                return any(wait.sentence == sentence for job in self.jobs for wait in list_waits(job))


def list_waits(job: StartedJob | UnstartedJob) -> Sequence[WaitReason]:
    """Return what delayed a job, or still does."""
    return job.waited_for if isinstance(job, StartedJob) else job.waits_for


def render_svg(forecast: Forecast, zone: ZoneInfo) -> str:
    """Return the forecast as an SVG document, with times of this zone."""
    return "\n".join(Timeline(forecast, zone).render())


class Timeline:
    def __init__(self, forecast: Forecast, zone: ZoneInfo) -> None:
        self.forecast = forecast
        self.zone = zone
        self.rows = group_rows(forecast)
        self.bottom = TOP + ROW * max(1, len(self.rows))
        self.length = forecast.until_at - forecast.from_at
        channels = sorted({row.channel for row in self.rows})
        self.colours = {channel: COLOURS[number % len(COLOURS)] for number, channel in enumerate(channels)}
        self.ends_at = self.bottom + 30  # y coordinate of the last line of the legend
        self.key = [*self.draw_legend()]

    def render(self) -> Iterator[str]:
        height = self.ends_at + FOOT
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
            f' role="img" aria-labelledby="title summary" font-family="{FONTS}">'
        )
        title, summary = escape_xml(self.make_title()), escape_xml(self.make_summary())
        yield f'<title id="title">{title}</title><desc id="summary">{summary}</desc>{HATCHED}'
        yield f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>'
        yield draw_text(MARGIN, 38, self.make_title(), size=20, weight=600)
        yield draw_text(MARGIN, 60, self.make_summary(), size=13, fill=FAINT)
        for number, row in enumerate(self.rows):
            yield from self.draw_background(row, TOP + ROW * number, striped=number % 2 == 0)
        yield from self.draw_axis()
        for number, row in enumerate(self.rows):
            yield from self.draw_row(row, TOP + ROW * number)
        if not self.rows:
            yield draw_text(GUTTER + 12, TOP + ROW / 2 + 5, "Nothing is due in this time.", fill=FAINT)
        yield from self.key
        yield "</svg>"

    def make_title(self) -> str:
        since, until = self.to_local(self.forecast.from_at), self.to_local(self.forecast.until_at)
        same_day = since.date() == until.date()
        return (
            f"What would run, {since:%a %-d %b %Y %H:%M} – {until:%H:%M}"
            if same_day
            else (f"What would run, {since:%a %-d %b %Y %H:%M} – {until:%a %-d %b %Y %H:%M}")
        )

    def make_summary(self) -> str:
        started, unstarted = len(self.forecast.started_jobs), len(self.forecast.unstarted_jobs)
        latest = max((job.delay for job in self.forecast.started_jobs), default=timedelta(0))
        workers, slots = self.forecast.workers, self.forecast.slots
        return (
            f"{started:,} {'job starts' if started == 1 else 'jobs start'}, {unstarted:,} would not; the latest is"
            f" {format_duration(latest)} late. {workers} × {slots} slots. Times of {self.zone.key}."
        )

    def to_local(self, at: datetime) -> datetime:
        return at.astimezone(self.zone)

    def locate(self, at: datetime) -> float:
        """Return the x coordinate of a time; times outside the forecast are at its edges."""
        share = (at - self.forecast.from_at) / self.length
        return GUTTER + min(max(share, 0.0), 1.0) * (WIDTH - GUTTER - MARGIN)

    def draw_background(self, row: TimelineRow, y: float, *, striped: bool) -> Iterator[str]:
        if striped:
            yield draw_rect(MARGIN - 12, y, WIDTH - 2 * MARGIN + 24, ROW, STRIPE)
        for gate in self.forecast.gates:
            if row.is_held_by(gate):
                left = self.locate(gate.since_at or self.forecast.from_at)
                width = self.locate(gate.until_at or self.forecast.until_at) - left
                if width > 0:
                    yield add_title(
                        describe_closed_gate(gate), draw_rect(left, y + 1, width, ROW - 2, BANDS[gate.kind][0])
                    )

    def draw_axis(self) -> Iterator[str]:
        previous = None
        for at in self.list_ticks():
            here, x = self.to_local(at), self.locate(at)
            yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{self.bottom}" stroke="{GRID}"/>'
            yield draw_text(
                x, TOP - 14, f"{here:%H:%M}", size=12, fill=INK if here.hour == 0 else FAINT, anchor="middle"
            )
            if here.date() != previous:
                yield draw_text(x, TOP - 29, f"{here:%a %-d %b}", size=11, fill=INK, anchor="middle", weight=600)
            previous = here.date()

    def list_ticks(self) -> list[datetime]:
        """Return the times on the axis: round times of the zone's clock."""
        step = next((step for step in STEPS if self.length / step <= MAX_TICKS), STEPS[-1])
        midnight = self.to_local(self.forecast.from_at).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        ticks: list[datetime] = []
        for number in range(int((self.length + timedelta(days=2)) / step) + 2):
            at = (midnight + number * step).replace(tzinfo=self.zone)
            if self.forecast.from_at <= at <= self.forecast.until_at:
                ticks.append(at)
        return ticks

    def draw_row(self, row: TimelineRow, y: float) -> Iterator[str]:
        label = row.account or row.channel
        shown = label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…"
        yield add_title(label, draw_text(MARGIN, y + ROW / 2 + 4.5, shown, size=13))
        bars = sorted((job for job in row.jobs if isinstance(job, StartedJob)), key=lambda job: job.started_at)
        tracks = self.assign_tracks(bars)
        height = BAR / (max(tracks, default=0) + 1)
        for bar, track in zip(bars, tracks, strict=True):
            yield self.draw_bar(bar, y + (ROW - BAR) / 2 + track * height, height)
        for job in row.jobs:
            if isinstance(job, UnstartedJob):
                yield self.draw_unstarted(job, y)

    def assign_tracks(self, bars: Sequence[StartedJob]) -> list[int]:
        """Return a track within the row for each bar, so that bars of the same time lie below each other."""
        free_from = [0.0] * MAX_TRACKS
        tracks: list[int] = []
        for job in bars:
            start, end = self.measure_bar(job)
            track = next((track for track, x in enumerate(free_from) if x <= start), len(tracks) % MAX_TRACKS)
            free_from[track] = max(end, free_from[track])
            tracks.append(track)
        return tracks

    def measure_bar(self, job: StartedJob) -> tuple[float, float]:
        start = self.locate(job.started_at)
        return start, max(start + SHORTEST_BAR, self.locate(job.ended_at))

    def draw_bar(self, job: StartedJob, y: float, height: float) -> str:
        (start, end), colour = self.measure_bar(job), self.colours[job.channel]
        due, middle = self.locate(max(job.scheduled_at, self.forecast.from_at)), y + height / 2
        waits = " ".join(wait.sentence for wait in job.waited_for)
        when = f"{self.to_local(job.started_at):%a %-d %b %H:%M:%S} – {self.to_local(job.ended_at):%H:%M:%S}"
        late = f", {format_duration(job.delay)} late. {waits}" if job.delay >= timedelta(seconds=1) else ""
        shape = draw_rect(start, y, end - start, height, colour, round_by=min(3, int(height / 3)))
        if start - due > 1:
            line = f'<line x1="{due:.1f}" y1="{middle}" x2="{start:.1f}" y2="{middle}" stroke="{colour}"'
            shape = f'{line} stroke-width="2" stroke-dasharray="2 3"/>{shape}'
        return add_title(f"{job.type} {job.job_id} on {job.channel}: {when}{late}", shape)

    def draw_unstarted(self, job: UnstartedJob, y: float) -> str:
        x, middle = self.locate(job.scheduled_at), y + ROW / 2
        colour = self.colours[job.channel]
        shape = f'<circle cx="{x:.1f}" cy="{middle}" r="5" fill="{PAPER}" stroke="{colour}" stroke-width="2"/>'
        waits = " ".join(wait.sentence for wait in job.waits_for)
        due = f"{self.to_local(job.scheduled_at):%a %-d %b %H:%M:%S}"
        return add_title(f"{job.type} {job.job_id} on {job.channel}, due {due}, would not have run: {waits}", shape)

    def draw_legend(self) -> Iterator[str]:
        x, y = float(MARGIN), self.ends_at
        kinds = dict.fromkeys(gate.kind for gate in self.forecast.gates)
        entries = [(colour, channel, 3) for channel, colour in self.colours.items()]
        entries += [(*BANDS[kind], 0) for kind in BANDS if kind in kinds]
        if self.forecast.unstarted_jobs:
            entries.append(("", "due, and would not have run", 0))
        for fill, label, round_by in entries:
            if x > WIDTH - 220:
                x, y = float(MARGIN), y + 22
                self.ends_at = y
            hollow = f'<circle cx="{x + 7:.1f}" cy="{y - 4}" r="5" fill="{PAPER}" stroke="{FAINT}" stroke-width="2"/>'
            yield draw_rect(x, y - 11, 14, 14, fill, round_by=round_by) if fill else hollow
            yield draw_text(x + 21, y, label, size=12, fill=FAINT)
            x += 44 + 7 * len(label)


def group_rows(forecast: Forecast) -> Sequence[TimelineRow]:
    """Return a row for each account, or for each channel if there are too many accounts."""
    by_account: dict[tuple[str, str | None], list[StartedJob | UnstartedJob]] = {}
    jobs: list[StartedJob | UnstartedJob] = [*forecast.started_jobs, *forecast.unstarted_jobs]
    for job in jobs:
        by_account.setdefault((job.channel, job.account), []).append(job)
    if len(by_account) > MAX_ROWS:
        by_channel: dict[tuple[str, str | None], list[StartedJob | UnstartedJob]] = {}
        for job in jobs:
            by_channel.setdefault((job.channel, None), []).append(job)
        by_account = by_channel
    places = sorted(by_account, key=lambda place: (place[0], place[1] or ""))
    return [TimelineRow(channel, account, tuple(by_account[channel, account])) for channel, account in places]


def format_duration(length: timedelta) -> str:
    seconds = round(length.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def draw_rect(x: float, y: float, width: float, height: float, fill: str, *, round_by: int = 0) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="{round_by}" fill="{fill}"/>'


def draw_text(
    x: float, y: float, content: str, *, size: int = 13, fill: str = INK, weight: int = 400, anchor: str = "start"
) -> str:
    style = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape_xml(content)}</text>'


def add_title(content: str, shape: str) -> str:
    return f"<g aria-label={quoteattr(BROKEN.sub('�', content))}><title>{escape_xml(content)}</title>{shape}</g>"


def escape_xml(content: str) -> str:
    return escape(BROKEN.sub("�", content))
