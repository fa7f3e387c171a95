"""When a worker counts as dead: its heartbeats have not changed for one lease of observation."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Silence:
    """For how long an observer has seen a worker's heartbeat counter stand at one value."""

    heartbeats: int
    seconds: float = 0.0
    outage_forgiven: bool = False


def observe(silence: Silence | None, heartbeats: int, gap: float, longest_gap: float) -> Silence:
    """Return the silence after a poll that came `gap` seconds after the last one.

    A gap longer than that between two polls of a healthy worker means that the store was away or the observer was
    suspended. The worker could send no heartbeat in that time either, so the first such gap does not count. Later ones
    count as `longest_gap`: an observer that is always slow must find dead workers too.
    """
    if silence is None or silence.heartbeats != heartbeats:
        return Silence(heartbeats)
    if gap > longest_gap and not silence.outage_forgiven:
        return replace(silence, outage_forgiven=True)
    return replace(silence, seconds=silence.seconds + min(gap, longest_gap))
