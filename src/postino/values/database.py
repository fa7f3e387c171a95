"""The identity of a database: by it Postino recognises one that was restored, copied or failed over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Standing(StrEnum):
    """Whether workers may send what is in the database."""

    OPEN = "open"
    ROLL_CALL = "roll_call"  # after a failover or a small loss: no claims until each process has checked it
    ASKED = "asked"  # a person must say whether the database was moved, copied or restored
    COPY = "copy"  # another database sends its posts: this one sends nothing


class Cause(StrEnum):
    """Why a person is asked."""

    STRANGER = "stranger"  # this machine has no memory of the database, and no other worker uses it
    PLACE = "place"  # the database is in another cluster, on another machine or in another file
    LOSS = "loss"  # the database lacks posts that workers sent


class DatabaseAnswer(StrEnum):
    """What a person says about the database."""

    MOVED = "moved"  # this is the only database, and nothing was lost
    COPY = "copy"  # another database is in use: this one must send nothing
    RESTORED = "restored"  # the other database is off, and the changes after a time are lost


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """What the database says about itself, and where it is now."""

    here: str  # where it is
    now_at: datetime | None = None  # when this was read, by the database's clock
    installation: str | None = None  # None, like era: no worker has used it yet
    era: str | None = None  # new with each answer
    place: str | None = None  # where it was created, or was when a worker or a person last accepted its place
    pulse: int = 0
    alive_at: datetime | None = None
    answered_pulse: int | None = None
    standing: Standing = Standing.OPEN
    cause: Cause | None = None
    reason: str | None = None
    since_at: datetime | None = None
    # Of the witnesses that worked at about the time of the last pulse, and of those that were asked for.
    counts: Mapping[str, int] = field(default_factory=dict)  # of batches sent, by witness
    seen_at: Mapping[str, datetime] = field(default_factory=dict)  # when each witness last worked
    marks: Mapping[str, str] = field(default_factory=dict)  # of the last batch, by witness
    lost_from: Mapping[str, int] = field(default_factory=dict)  # witnesses whose batches after this one are not entered
    troubles: tuple[str, ...] = ()  # of processes that cannot use their state directory; a poll does not read them

    def count_entered(self, witness: str) -> int:
        """Return up to which batch of a witness the database has every intent."""
        return self.lost_from.get(witness, self.counts.get(witness, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The next batch of intents of one witness. The mark tells a repetition from another process with the same id."""

    witness: str
    n: int  # batches committed before this one
    mark: str
    era: str
    pulse: int  # the lowest that the database may have
