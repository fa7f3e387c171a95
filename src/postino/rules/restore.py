"""Decide whether a database is the one that this machine has worked with, and what to do if it may not be.

Whether a database lacks something is decided by numbers, never by clocks. Times decide only how much a database has
lost, how long a database counts as in use, and when rows of old processes are deleted.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum

from postino.values.database import Cause, DatabaseState, Standing

PULSE_SECONDS = 30.0
MISSED_PULSES = 4  # a memory that is further behind has not seen the last use of the database
IN_USE = timedelta(minutes=2)  # since the last pulse
SMALL_LOSS = timedelta(minutes=2)
SMALL_LOSS_PULSES = int(SMALL_LOSS.total_seconds() / PULSE_SECONDS)
SILENT = timedelta(minutes=10)  # then the row of a process that has sent nothing is deleted, and polls leave it out
WITNESS_RETENTION = timedelta(days=90)  # then the row of a process that has sent something is deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one process knew of the database: its own memory, or the witness file of a process on this machine."""

    witness: str
    era: str
    pulse: int
    alive_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)  # of every witness it has seen, its own included


class Knowledge(Enum):
    """How the memories on this machine and the database compare."""

    VOUCHED = "vouched"  # the database has all that they have seen, and they have seen its end
    BEHIND = "behind"  # the database lacks something that they have seen
    STRANGER = "stranger"  # no memory on this machine knows the database well enough


class Place(Enum):
    """Where the database is, compared with where it was."""

    SAME = "same"
    PROMOTED = "promoted"  # the same cluster on another timeline
    RENAMED = "renamed"  # another path on the same machine, or another file at the same path
    RECREATED = "recreated"  # the same database with other tables: a dump was restored into it
    OTHER = "other"


class Decision(StrEnum):
    """What a process does about the database."""

    CONTINUE = "continue"
    JOIN = "join"  # another process, a setting or an answer vouches for it
    REOPEN = "reopen"  # a stranger has asked a person, and this process knows the answer
    CALL_ROLL = "call roll"
    ANSWER_ROLL = "answer roll call"
    ASK_STRANGER = "ask: nobody knows it"
    ASK_PLACE = "ask: it is elsewhere"
    ASK_LOSS = "ask: it has lost something"
    WAIT = "wait"  # a person has been asked


IF_VOUCHED = {
    Standing.OPEN: Decision.CONTINUE,
    Standing.ROLL_CALL: Decision.ANSWER_ROLL,
    Standing.ASKED: Decision.REOPEN,
}
CAUSES = {
    Decision.ASK_STRANGER: Cause.STRANGER,
    Decision.ASK_PLACE: Cause.PLACE,
    Decision.ASK_LOSS: Cause.LOSS,
}


def classify(
    memories: Collection[Memory], state: DatabaseState, former_eras: Collection[str] = (), own: Memory | None = None
) -> Knowledge:
    """Compare the memories of a machine with the database. `own` is that of the running process.

    A memory of a former era proves no loss: a person has answered since then what the database is.
    """
    every = [*memories, own] if own is not None else memories
    if any(has_lost(memory, state, former_eras) for memory in every):
        return Knowledge.BEHIND
    if any(has_seen_end(memory, state, former_eras) for memory in every):
        return Knowledge.VOUCHED
    return Knowledge.STRANGER


def has_lost(memory: Memory, state: DatabaseState, former_eras: Collection[str]) -> bool:
    """Return whether the database lacks something that the memory has. An unknown era is another branch of history.

    A missing row is no proof: rows of processes that have not lived for long are deleted. But that of the memory's own
    process is there as long as the memory is recent, unless nobody has used the database for months.
    """
    if memory.era != state.era:
        return memory.era not in former_eras
    if memory.pulse > state.pulse or any(n > state.counts.get(it, n) for it, n in memory.counts.items()):
        return True
    n = memory.counts.get(memory.witness, 0)
    if memory.witness in state.counts:
        return n > state.count_entered(memory.witness)
    return n > 0 and memory.pulse >= state.pulse - MISSED_PULSES and not is_pruned(memory, state)


def is_pruned(memory: Memory, state: DatabaseState) -> bool:
    """Return whether the row of the memory's process is missing because the process had not worked for months."""
    if memory.witness in state.counts or state.now_at is None:
        return False
    return memory.alive_at < state.now_at - WITNESS_RETENTION


def list_recent_counts(state: DatabaseState) -> dict[str, int]:
    """Return the numbers of the witnesses that worked at about the time of the last pulse.

    Others are not worth remembering: what they sent, they sent before pulses that the memory has seen.
    """
    since_at = None if state.alive_at is None else state.alive_at - SILENT
    return {it: n for it, n in state.counts.items() if since_at is None or state.seen_at.get(it, since_at) >= since_at}


def has_seen_end(memory: Memory, state: DatabaseState, former_eras: Collection[str]) -> bool:
    """Return whether the memory is recent enough to say that the database is the one it knows.

    A person has answered for the memories of former eras, and vouches for as long as a memory from then would.
    """
    if memory.era != state.era:
        is_answer_recent = state.answered_pulse is not None and state.answered_pulse >= state.pulse - MISSED_PULSES
        return memory.era in former_eras and is_answer_recent
    return memory.pulse >= state.pulse - MISSED_PULSES


def compare_places(place: str, here: str, *, is_old_file_there: bool) -> Place:
    """Compare where the database was with where it is now: both are JSON lists, as drivers make them."""
    old, new = json.loads(place), json.loads(here)
    if old == new:
        return Place.SAME
    if old[0] != new[0]:
        return Place.OTHER
    if old[0] == "postgres":
        return compare_postgres_places(old[1:], new[1:])
    if old[0] == "sqlite":
        (_, machine, path, *file), (_, new_machine, new_path, *new_file) = old, new
        if not is_same_machine(machine, new_machine):
            return Place.OTHER
        if (path, file) == (new_path, new_file):
            return Place.SAME
        return Place.RENAMED if path == new_path or file == new_file or not is_old_file_there else Place.OTHER
    return Place.OTHER


def compare_postgres_places(old: Sequence[str], new: Sequence[str]) -> Place:
    """Compare cluster, timeline, database and tables. Witness files of former releases do not name the tables."""
    (cluster, timeline, database, *tables), (new_cluster, new_timeline, new_database, *new_tables) = old, new
    if (cluster, database) != (new_cluster, new_database):
        return Place.OTHER
    if timeline != new_timeline:
        return Place.PROMOTED
    return Place.RECREATED if tables and new_tables and tables != new_tables else Place.SAME


def is_still_there(place: str | None, here: str) -> bool:
    """Return whether a database that no worker has used is the file, or the tables, in which it was created.

    A restored backup is another file or has other tables, unless its files were put back below PostgreSQL or its
    content was copied over the file. A file that was only renamed is the same. None: a former release created it.
    """
    if place is None:
        return True
    old, new = json.loads(place), json.loads(here)
    if old[0] == new[0] == "sqlite":
        (_, machine, _, *file), (_, new_machine, _, *new_file) = old, new
        return is_same_machine(machine, new_machine) and file == new_file
    return bool(old == new)


def is_same_machine(machine: str, other: str) -> bool:
    """Compare ids of machines, and those of their hardware if both are known: not every process may read it."""
    (name, _, product), (other_name, _, other_product) = machine.partition("/"), other.partition("/")
    return name == other_name and (product == other_product or not product or not other_product)


def decide(
    state: DatabaseState,
    knowledge: Knowledge,
    place: Place,
    now: datetime,
    *,
    is_trusted: bool = False,
    is_other_process_active: bool = False,
    loss: timedelta | None = None,
) -> Decision:
    """Decide what a process does about a database that somebody has used before.

    `is_other_process_active`: the pulse has grown since this process first read it, so another process vouches for the
    database. `loss`: how much time a database that is behind has lost; None if nobody can tell.

    If the file, the tables or the timeline are others than before, the database may lack what another process has just
    sent, so all processes must compare it with what they know.
    """
    if knowledge is Knowledge.BEHIND:
        is_here = place in (Place.SAME, Place.PROMOTED, Place.RECREATED)
        is_small = is_here and loss is not None and loss <= SMALL_LOSS
        is_open = state.standing in (Standing.OPEN, Standing.ROLL_CALL)
        return Decision.CALL_ROLL if is_small and is_open else Decision.ASK_LOSS
    if state.standing is Standing.COPY or (state.standing is Standing.ASKED and state.cause is not Cause.STRANGER):
        return Decision.WAIT
    if place is Place.OTHER:
        return Decision.WAIT if state.standing is Standing.ASKED else Decision.ASK_PLACE
    if knowledge is Knowledge.VOUCHED:
        if place is not Place.SAME:
            return Decision.CALL_ROLL
        return IF_VOUCHED[state.standing]
    if state.standing is Standing.ASKED or is_roll_called(state, now):
        return Decision.WAIT
    if place is Place.SAME and (is_trusted or is_other_process_active or is_in_use(state, now) or is_answered(state)):
        return Decision.JOIN
    return Decision.ASK_STRANGER


def is_roll_called(state: DatabaseState, now: datetime) -> bool:
    """Return whether a roll call is under way. One that nobody has ended for long is not."""
    return state.standing is Standing.ROLL_CALL and state.since_at is not None and now - state.since_at <= IN_USE


def is_in_use(state: DatabaseState, now: datetime) -> bool:
    """Return whether a process vouched for the database within the last minutes. A time in the future is no proof."""
    return state.alive_at is not None and timedelta(0) <= now - state.alive_at <= IN_USE


def is_answered(state: DatabaseState) -> bool:
    """Return whether nobody has worked with the database since a person answered what it is."""
    return state.pulse == state.answered_pulse


def measure_loss(
    memories: Collection[Memory], state: DatabaseState, *, lease: timedelta, is_continuous: bool = False
) -> timedelta | None:
    """Return how much time the database has lost, by its own former times; None if nobody can tell.

    A clock may have been set back meanwhile, so nobody can tell if more pulses are lost than fit into a small loss.
    Nor can a process that noticed it long after: others have used the database since, so its last time is not that of
    the loss. If one of them has noticed the loss, it has measured it. Servers have no memory and do not pulse: after
    the workers stopped, people may have changed posts for hours. Only `is_continuous` excludes this: a process worked
    with the database until it was lost, and has tried to since.
    """
    if state.alive_at is None or any(memory.era != state.era for memory in memories):
        return None
    if any(memory.pulse > state.pulse + SMALL_LOSS_PULSES for memory in memories):
        return None
    unnoticed = [memory for memory in memories if is_unnoticed(memory, state)]
    if any(memory.pulse < state.pulse - MISSED_PULSES for memory in unnoticed):
        return None
    if unnoticed and not is_continuous and not is_recent(state, lease):
        return None
    last = max((memory.alive_at for memory in memories), default=None)
    return None if last is None else max(last - state.alive_at, timedelta(0))


def is_recent(state: DatabaseState, lease: timedelta) -> bool:
    """Return whether all that the database may have lost happened within a small loss and a roll call."""
    if state.alive_at is None or state.now_at is None:
        return False
    return timedelta(0) <= state.now_at - state.alive_at <= SMALL_LOSS + lease


def is_unnoticed(memory: Memory, state: DatabaseState) -> bool:
    """Return whether the database lacks something that the memory has, and nobody has noticed that."""
    return memory.witness not in state.lost_from and has_lost(memory, state, ())


def is_id_used_twice(state: DatabaseState, witness: str, n: int, mark: str) -> bool:
    """Return whether another process uses this id: the machine or its state directory was copied.

    A number that was raised by a process that remembers more than the database (`lost_from`) does not count.
    """
    is_ahead = state.counts.get(witness, 0) > n and witness not in state.lost_from
    return is_ahead and state.marks.get(witness) != mark


def is_pulse_due(state: DatabaseState) -> bool:
    """Return whether no process has recorded its pulse within the interval. A time in the future does not count.

    The first process after an answer records it at once: until then that answer would vouch for the database.
    """
    if state.alive_at is None or state.now_at is None or state.pulse == state.answered_pulse:
        return True
    return not timedelta(0) <= state.now_at - state.alive_at < timedelta(seconds=PULSE_SECONDS)


def describe_cause(cause: Cause, state: DatabaseState) -> str:
    """Say why a person is asked what this database is."""
    match cause:
        case Cause.STRANGER:
            return (
                "No worker uses this database now, and this machine has not worked with it, or not lately. It may be a"
                " copy or a backup."
            )
        case Cause.PLACE:
            return "The database is not where it was. It was moved, copied, restored or failed over."
        case Cause.LOSS:
            last = f" since {state.alive_at:%Y-%m-%d %H:%M:%S} UTC" if state.alive_at else ""
            return f"The database lacks what was sent{last}: it was restored from a backup, or a failover lost it."


def advise_answer(state: DatabaseState) -> str | None:
    """Say which command answers the question; None if the database is open."""
    if state.standing is Standing.OPEN:
        return None
    if state.standing is Standing.ROLL_CALL:
        return "Nothing: Postino checks the database and continues within seconds."
    if state.standing is Standing.COPY:
        return "To use this database instead of the other one: `postino database accept restored --reason WHY`."
    if state.cause is Cause.LOSS:
        at = f" --at {state.alive_at:%Y-%m-%dT%H:%M:%SZ}" if state.alive_at else ""
        return (
            f"If the former database is off: `postino database accept restored{at} --reason WHY`. If it is in use:"
            " `postino database accept copy --reason WHY`."
        )
    return (
        "Say what it is: `postino database accept moved --reason WHY` if this is the only one and nothing was lost,"
        " `copy` if another one is in use, or `restored` if it is from a backup."
    )
