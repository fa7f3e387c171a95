"""The identity of this database, whether workers may send from it, and what a person says it is.

`rules.restore` decides. Every change of the standing is made under the row's lock, and only if the row is as expected.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from postino.errors import Conflict, WrongUse
from postino.rules.gates import FOREVER
from postino.rules.restore import SILENT, WITNESS_RETENTION, advise_answer, is_roll_called
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.gates import close_gate, decode_detail, open_gate
from postino.stores.operations.suspects import Suspects, release_suspects, suspect_posts, write_uncertain_events
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext, LostIntent, RememberedCount
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, Row, ask, each
from postino.values.database import Cause, DatabaseAnswer, DatabaseState, Standing
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.job import Job
from postino.values.ledger import Suspicion

ALIVE_BEFORE = timedelta(minutes=1)  # before the last pulse: a process stamps its row every 30 seconds
BY_ITSELF = "postino"  # the actor of what no person did
FIELDS = (
    "here", "now_at", "installation", "era", "place", "pulse", "alive_at", "answered_pulse", "reason", "since_at"
)  # fmt: skip
DOUBT = "The database was restored, and this post was being sent in the part of its history that is lost."


@dataclass(frozen=True, slots=True)
class AcceptedDatabase:
    """The database after an answer, and the posts that may have been published without its knowledge."""

    state: DatabaseState
    suspects: Suspects


def read_database_state(witnesses: Collection[str] = ()) -> Operation[DatabaseState]:
    """Return the stored state of the database, with the numbers of these witnesses and of those that work."""
    [row] = yield ask("read_database_state")
    return (yield from read_witnesses(row, witnesses))


def read_witnesses(row: Row, witnesses: Collection[str] = ()) -> Operation[DatabaseState]:
    """Return the state in a row, with the numbers of these witnesses and of those that work."""
    since_at = None if row["alive_at"] is None else row["alive_at"] - SILENT
    rows = yield ask("list_witnesses", witnesses=list(witnesses), since_at=since_at)
    return to_database_state(row, rows)


def read_schema_time() -> Operation[datetime]:
    """Return when the database was created. Its copies and backups have the same time."""
    [row] = yield ask("read_schema_time")
    created_at: datetime = row["created_at"]
    return created_at


def list_eras() -> Operation[frozenset[str]]:
    """Return the eras before the present one."""
    return frozenset(row["era"] for row in (yield ask("list_eras")))


def adopt_database(state: DatabaseState, installation: str, era: str, *, is_there: bool = True) -> Operation[bool]:
    """Take a new database as it is and where it is; return False if another process has, or if it has changed.

    Unless it `is_there`, where it was created, it is taken only without jobs: it may be a backup.
    """
    adopted = yield ask(
        "adopt_database", installation=installation, era=era, place=state.place, here=state.here, is_there=is_there
    )
    return bool(adopted)


def register_witness(
    witness: str, n: int, trouble: str | None = None, others: Collection[str] = ()
) -> Operation[list[Job]]:
    """Insert the row of a process that may send, unless it is there, and record that the process works.

    `trouble`: why the process remembers in memory only. `others`: processes of its machine whose files lack nothing.
    If these were the last that a roll call has missed, return the posts that are no longer under suspicion.
    """
    yield ask("insert_witness", witness=witness, n=n)
    yield ask("touch_witness", witness=witness, trouble=clean_text(trouble))
    if not (yield ask("end_absence", witnesses=[witness, *others])) or (yield ask("list_awaited_witnesses")):
        return []
    return (yield from release_suspects())


def record_pulse(state: DatabaseState) -> Operation[bool]:
    """Record that a process that vouches for the database works; return False if something has changed.

    Also delete the rows of processes that have not worked for long.
    """
    if not (yield ask("record_pulse", pulse=state.pulse, era=state.era)):
        return False
    yield ask("prune_witnesses", silent_seconds=SILENT.total_seconds(), days=WITNESS_RETENTION.days)
    return True


def ask_person(expected: DatabaseState, cause: Cause, reason: str, eras: Collection[str] = ()) -> Operation[bool]:
    """Close the database until a person says what it is; return False if it has changed meanwhile.

    `eras`: what this machine remembers of a database that has none yet. The answer is about these, too.
    """
    [row] = yield ask("lock_database_state")
    if (row["era"], row["standing"]) != (expected.era, expected.standing):
        return False
    for era in sorted(eras):
        yield ask("insert_era", era=era)
    if cause is not Cause.LOSS:  # else a person must say that the database was restored
        yield from end_forgotten_roll_call(row)
    yield from change_standing(Standing.ASKED, cause, reason)
    if cause is Cause.LOSS:
        yield ask("renew_question")
    return True


def reopen_database(expected: DatabaseState, reason: str) -> Operation[bool]:
    """Open a database that a stranger had closed; return False if it has changed meanwhile."""
    [row] = yield ask("lock_database_state")
    if (row["era"], row["standing"], row["cause"]) != (expected.era, Standing.ASKED, Cause.STRANGER):
        return False
    yield from change_standing(Standing.OPEN, None, reason)
    return True


def call_roll(expected: DatabaseState, reason: str) -> Operation[bool]:
    """Stop sending until every process has checked the database; return False if it has changed meanwhile."""
    [row] = yield ask("lock_database_state")
    if (row["era"], row["standing"]) != (expected.era, expected.standing):
        return False
    yield from begin_roll_call(reason)
    return True


def begin_roll_call(reason: str) -> Operation[None]:
    """Store the current place of the database, and close the database until each process has checked it."""
    yield ask("begin_roll_call", reason=reason)
    yield ask("clear_signatures")
    yield from close_gate(Scope.ALL, "", GateKind.DATABASE, reason=reason)
    yield from write_standing_event()
    yield from write_audit_entry(AuditContext(BY_ITSELF, reason), f"database.{Standing.ROLL_CALL}", "database")


def sign_roll(witness: str, place: str) -> Operation[None]:
    """Record that a process has checked the database and lacks nothing in it."""
    yield ask("sign_roll", witness=witness, place=place)


def end_roll_call(expected: DatabaseState) -> Operation[list[Job]]:
    """Open the database after a roll call, unless it has changed meanwhile.

    If a process that worked before has not signed, what it sent last may be lost. It may have sent any post that is
    due, however long ago, so these posts are under suspicion until it returns, and are returned.
    """
    [row] = yield ask("lock_database_state")
    if (row["era"], row["standing"], row["since_at"]) != (expected.era, Standing.ROLL_CALL, expected.since_at):
        return []
    alive_from_at = row["alive_at"] - ALIVE_BEFORE
    absent = yield ask("mark_absent_witnesses", alive_at=alive_from_at)
    suspects = Suspects()
    if absent:
        now = row["now_at"]
        suspects = yield from suspect_posts(Suspicion.ABSENT, alive_from_at, now, due_to_at=now, created_to_at=now)
    yield from change_standing(Standing.OPEN, None, f"Roll call: {len(absent)} processes have not answered.")
    return [*suspects.due]


def end_forgotten_roll_call(row: Row) -> Operation[list[Job]]:
    """End a roll call, if there is one: later nobody would miss the processes that did not sign."""
    if row["standing"] != Standing.ROLL_CALL:
        return []
    return (yield from end_roll_call(to_database_state(row, ())))


def enter_lost_intents(
    expected: DatabaseState,
    lost: Sequence[LostIntent],
    counts: Sequence[RememberedCount],
    pulse: int,
    eras: Collection[str],
    standing: Standing | None,
    reason: str,
) -> Operation[list[Job] | None]:
    """Enter intents that the database has lost as doubts, and raise its numbers to what this machine has seen.

    With a standing, also begin a roll call, or close the database until a person says what it is. Return the jobs in
    doubt, or None if the database has changed meanwhile, so that more or less may be lost.
    """
    [row] = yield ask("lock_database_state")
    if has_changed(expected, (yield from read_witnesses(row, [count.witness for count in counts])), counts):
        return None
    jobs = yield from enter_doubts(lost)
    yield each("raise_witnesses", [count.to_row() for count in counts])
    yield ask("raise_pulse", pulse=pulse)
    for era in sorted({*eras} - {row["era"]}):
        yield ask("insert_era", era=era)
    if standing is Standing.ASKED and row["standing"] != Standing.COPY and row["cause"] != Cause.LOSS:
        yield from change_standing(Standing.ASKED, Cause.LOSS, reason)
    if standing is Standing.ROLL_CALL and row["standing"] == Standing.OPEN:
        yield from begin_roll_call(reason)
    yield ask("renew_question")
    return jobs


def has_changed(expected: DatabaseState, state: DatabaseState, counts: Sequence[RememberedCount]) -> bool:
    """Return whether a person has answered, or the database was put back once more, since its state was read."""
    return (
        state.era != expected.era
        or state.pulse < expected.pulse
        or any(state.count_entered(it.witness) < expected.count_entered(it.witness) for it in counts)
    )


def enter_doubts(lost: Sequence[LostIntent]) -> Operation[list[Job]]:
    """Insert lost intents with their steps, and return the jobs that became uncertain."""
    entered = yield each("insert_lost_intents", [intent.to_row() for intent in lost])
    known = {entry["job_id"]: entry["lookup_at"] for entry in entered}
    steps = {
        (intent.job_id, step.name): {"job_id": intent.job_id, "name": step.name, "position": step.position,
                                     "asked_at": step.asked_at, "done_at": step.done_at, "result": step.result}
        for intent in lost if intent.job_id in known for step in intent.steps
    }  # fmt: skip
    yield each("insert_lost_steps", list(steps.values()))
    doubted = yield each(
        "doubt_lost_jobs",
        [{"job_id": entry["job_id"], "lookup_at": entry["lookup_at"]} for entry in entered],
        why=DOUBT,
    )
    jobs = list({job.id: job for job in to_unfinished_jobs(doubted)}.values())
    yield from write_uncertain_events(jobs, DOUBT)
    return jobs


def accept_database(
    answer: DatabaseAnswer, lost_since_at: datetime | None, installation: str, era: str, audit: AuditContext
) -> Operation[AcceptedDatabase]:
    """Do what a person says about the database. Raises Conflict where the answer cannot be true."""
    [row] = yield ask("lock_database_state")
    check_answer(row, answer, lost_since_at)
    missed = (yield from end_forgotten_roll_call(row)) if answer is DatabaseAnswer.MOVED else []
    [row] = yield ask("lock_database_state")
    if row["era"] is not None:
        yield ask("insert_era", era=row["era"])
    is_copy = answer is DatabaseAnswer.COPY
    standing = Standing.COPY if is_copy else Standing.OPEN
    yield ask(
        "save_answer",
        installation=installation if is_copy or row["installation"] is None else row["installation"],
        era=era,
        standing=standing,
        reason=f"A person answered that another database sends its posts: {audit.reason}" if is_copy else None,
    )
    suspects = Suspects(due=tuple(missed))
    if answer is DatabaseAnswer.RESTORED:
        yield ask("forget_absences")
        since_at = lost_since_at or row["alive_at"] or (yield from read_schema_time())
        # The state has the time at which a worker noticed the loss. What was accepted since then is not lost.
        created_to_at = row["since_at"] if row["cause"] == Cause.LOSS else row["now_at"]
        suspects = yield from suspect_posts(
            Suspicion.RESTORED, since_at, row["now_at"], due_to_at=FOREVER, created_to_at=created_to_at
        )
    if is_copy:
        yield from close_gate(Scope.ALL, "", GateKind.DATABASE, reason=audit.reason)
    else:
        yield from open_gate(Scope.ALL, "", GateKind.DATABASE)
    if row["standing"] != standing:
        yield from write_standing_event()
    detail = f"lost since {lost_since_at.isoformat()}" if lost_since_at else ""
    yield from write_audit_entry(audit, f"database.{answer}", "database", detail)
    [after] = yield ask("read_database_state")
    return AcceptedDatabase((yield from read_witnesses(after)), suspects)


def check_answer(row: Row, answer: DatabaseAnswer, lost_since_at: datetime | None) -> None:
    """Raise an error for an answer that cannot be true."""
    if lost_since_at is not None and answer is not DatabaseAnswer.RESTORED:
        raise WrongUse("at: only `restored` has a time.", field="at")
    if row["installation"] is None and row["standing"] == Standing.OPEN and answer is DatabaseAnswer.MOVED:
        raise Conflict("No worker has used this database yet. There is nothing to accept.")
    if row["standing"] == Standing.OPEN and answer is not DatabaseAnswer.COPY and answer is not DatabaseAnswer.RESTORED:
        raise Conflict("The database is open: Postino has no question about it. Nothing was changed.")
    if answer is DatabaseAnswer.MOVED and is_roll_called(to_database_state(row, ()), row["now_at"]):
        raise Conflict("Workers are checking the database, and continue within seconds. Nothing was changed.")
    if row["standing"] == Standing.COPY and answer is not DatabaseAnswer.RESTORED:
        raise Conflict(
            "A person answered that this database is a copy. Only `postino database accept restored` opens it."
            " Nothing was changed."
        )
    if answer is DatabaseAnswer.MOVED and row["cause"] == Cause.LOSS:
        raise Conflict(
            "The database lacks posts that were sent, so it was not only moved. Use `restored`, or `copy` if another"
            " database is in use. Nothing was changed."
        )
    if lost_since_at is not None and row["alive_at"] is not None and lost_since_at > row["alive_at"]:
        raise WrongUse(
            f"at: the database was last in use at {row['alive_at']:%Y-%m-%d %H:%M:%S} UTC, so all later changes are"
            " lost. Use that time or an earlier one.",
            field="at",
        )


def change_standing(standing: Standing, cause: Cause | None, reason: str) -> Operation[None]:
    """Set the standing, open or close the gate of all jobs, and write an audit entry."""
    is_open = standing is Standing.OPEN
    yield ask("set_standing", standing=standing, cause=cause, reason=None if is_open else reason)
    if is_open:
        yield from open_gate(Scope.ALL, "", GateKind.DATABASE)
    else:
        yield from close_gate(Scope.ALL, "", GateKind.DATABASE, reason=reason)
    yield from write_standing_event()
    yield from write_audit_entry(AuditContext(BY_ITSELF, reason), f"database.{standing}", "database")


def write_standing_event() -> Operation[None]:
    """Write the event of a changed standing: it tells listeners what a person can do."""
    [row] = yield ask("read_database_state")
    state = to_database_state(row, ())
    data = {"standing": state.standing, "cause": state.cause, "reason": state.reason, "next": advise_answer(state)}
    yield from insert_event(EventType.DATABASE_STANDING_CHANGED, None, data)


def to_database_state(row: Mapping[str, Any], witnesses: Sequence[Row]) -> DatabaseState:
    """Return the state in rows of the database and of its witnesses."""
    return DatabaseState(
        **{name: row[name] for name in FIELDS},
        standing=Standing(row["standing"]),
        cause=Cause(row["cause"]) if row["cause"] else None,
        counts={witness["witness"]: witness["n"] for witness in witnesses},
        seen_at={witness["witness"]: witness["seen_at"] for witness in witnesses},
        marks={witness["witness"]: witness["mark"] for witness in witnesses if witness["mark"]},
        lost_from={
            witness["witness"]: witness["lost_from"] for witness in witnesses if witness["lost_from"] is not None
        },
        troubles=tuple(witness["trouble"] for witness in witnesses if witness["trouble"]),
    )


def decode_database_state(kinds: Mapping[str, Sequence[Row]]) -> DatabaseState:
    """Return the state in the rows of a poll."""
    lost_from = {row["name"]: row["amount"] for row in kinds["lost"]}
    witnesses = [
        {"witness": row["name"], "n": row["amount"], "lost_from": lost_from.get(row["name"]), "mark": row["detail"],
         "seen_at": row["due_at"], "trouble": None}
        for row in kinds["witness"]
    ]  # fmt: skip
    row = {**decode_detail(kinds["database"][0]["detail"]), "now_at": kinds["clock"][0]["due_at"]}
    return to_database_state(row, witnesses)
