"""Decide whether a database may be a copy or an old backup, which does not know what was published since."""

from datetime import datetime, timedelta

SILENCE = timedelta(minutes=10)


def explain_hold(known_as: str, identity: str, alive_at: datetime, now: datetime) -> str | None:
    """Return why due posts wait for a person; None if the database is the same and was in use all the time."""
    if known_as != identity:
        return (
            "The database was copied, moved, restored or failed over. It does not know whether this post was published"
            " since."
        )
    if now - alive_at > SILENCE:
        return (
            f"No worker used this database from {alive_at:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC. If it was"
            " restored from a backup, this post may have been published since."
        )
    return None
