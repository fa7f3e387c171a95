"""Whether a database may be a copy, or from an earlier day: it then does not know what was sent since."""

from datetime import datetime, timedelta

SILENCE = timedelta(minutes=10)


def explain_hold(known_as: str, identity: str, alive_at: datetime, now: datetime) -> str | None:
    """Why posts that are due wait for a person; None: this is the database it was, and it was here all the time."""
    if known_as != identity:
        return (
            "The database is not where it was: it was copied, moved, restored or failed over. Whether this post went"
            " out since is not known here."
        )
    if now - alive_at > SILENCE:
        return (
            f"Nobody worked on this database from {alive_at:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC. If it was"
            " brought back from a backup, this post may have gone out since."
        )
    return None
