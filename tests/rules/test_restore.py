"""What a process does about a database: one case for each row of the table in the documentation."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postino.rules.restore import (
    Decision,
    Knowledge,
    Memory,
    Place,
    advise_answer,
    classify,
    compare_places,
    decide,
    is_id_used_twice,
    is_pulse_due,
    is_still_there,
    measure_loss,
)
from postino.values.database import Cause, DatabaseState, Standing

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=12)
STATE = DatabaseState(
    here="it", now_at=NOW, installation="i", era="e2", place="it", pulse=100, alive_at=LONG_AGO, counts={"w": 7, "x": 3}
)
KNOWS = Memory(witness="w", era="e2", pulse=100, alive_at=LONG_AGO, counts={"w": 7, "x": 3})
FORMER = {"e0", "e1"}


def change(memory: Memory = KNOWS, **fields: object) -> Memory:
    return replace(memory, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memory", "knowledge"),
    [
        (KNOWS, Knowledge.VOUCHED),
        (change(pulse=96), Knowledge.VOUCHED),
        (change(counts={"w": 6}), Knowledge.VOUCHED),  # a power cut between the commit and the file
        (change(pulse=95), Knowledge.STRANGER),  # off for weeks while others worked
        (None, Knowledge.STRANGER),
        (change(pulse=101), Knowledge.BEHIND),
        (change(counts={"w": 8}), Knowledge.BEHIND),
        (change(counts={"w": 7, "x": 4}), Knowledge.BEHIND),  # another process on another machine sent it
        (change(witness="v", counts={"v": 1}), Knowledge.BEHIND),  # the row of its process is not there yet
        (change(witness="v", counts={"v": 1}, pulse=4), Knowledge.STRANGER),  # its row was pruned
        (change(witness="v", counts={"v": 1}, alive_at=NOW - timedelta(days=91)), Knowledge.VOUCHED),  # likewise
        (change(witness="v", counts={"v": 0}), Knowledge.VOUCHED),  # it has sent nothing
        (change(counts={"w": 7, "v": 1}), Knowledge.VOUCHED),  # the row of another process was pruned
        (change(era="e3"), Knowledge.BEHIND),  # the database was rolled back past an answer
        (change(era="e1", pulse=900, counts={"w": 99}), Knowledge.STRANGER),  # a person has answered for it, long ago
    ],
)
def test_memory_and_database_are_compared_by_numbers(memory: Memory | None, knowledge: Knowledge) -> None:
    assert classify([memory] if memory else [], STATE, FORMER) is knowledge


@pytest.mark.parametrize(
    ("answered_pulse", "knowledge"),
    [(100, Knowledge.VOUCHED), (96, Knowledge.VOUCHED), (95, Knowledge.STRANGER), (None, Knowledge.STRANGER)],
)
def test_answer_vouches_for_memories_of_former_eras_for_four_pulses(
    answered_pulse: int | None, knowledge: Knowledge
) -> None:
    former = change(era="e1", pulse=900, counts={"w": 99})
    assert classify([former], replace(STATE, answered_pulse=answered_pulse), FORMER) is knowledge


def test_number_that_another_process_has_raised_is_still_lost_to_the_process_itself() -> None:
    raised = replace(STATE, lost_from={"w": 6})
    assert classify([KNOWS], raised) is Knowledge.BEHIND
    assert classify([change(counts={"w": 6, "x": 3})], raised) is Knowledge.VOUCHED
    assert classify([change(witness="x")], raised) is Knowledge.VOUCHED
    assert not is_id_used_twice(replace(raised, marks={"w": "old"}), "w", 6, "mine")


def test_one_memory_that_has_seen_more_outweighs_all_others() -> None:
    assert classify([KNOWS, change(witness="x", counts={"x": 4})], STATE, FORMER) is Knowledge.BEHIND


OPEN, ASKED, COPY = STATE, replace(STATE, standing=Standing.ASKED), replace(STATE, standing=Standing.COPY)
BY_STRANGER, BY_LOSS = replace(ASKED, cause=Cause.STRANGER), replace(ASKED, cause=Cause.LOSS)
IN_USE = replace(STATE, alive_at=NOW - timedelta(seconds=90))
ACTIVE = {"is_other_process_active": True}
TO_COME = replace(STATE, alive_at=NOW + timedelta(seconds=1))
ANSWERED = replace(STATE, answered_pulse=100)
CALLED = replace(STATE, standing=Standing.ROLL_CALL, since_at=NOW - timedelta(seconds=20))
FORGOTTEN = replace(CALLED, since_at=LONG_AGO)
SMALL: dict[str, object] = {"loss": timedelta(seconds=40)}
V, B, S = Knowledge.VOUCHED, Knowledge.BEHIND, Knowledge.STRANGER


@pytest.mark.parametrize(
    ("state", "knowledge", "place", "options", "decision"),
    [
        pytest.param(OPEN, V, Place.SAME, {}, Decision.CONTINUE, id="a night off asks nobody"),
        pytest.param(IN_USE, S, Place.SAME, {}, Decision.JOIN, id="a new host joins others that work"),
        pytest.param(OPEN, S, Place.SAME, ACTIVE, Decision.JOIN, id="the pulse of others grows"),
        pytest.param(OPEN, S, Place.SAME, {}, Decision.ASK_STRANGER, id="a new host alone asks"),
        pytest.param(TO_COME, S, Place.SAME, {}, Decision.ASK_STRANGER, id="a negative age is too old"),
        pytest.param(OPEN, S, Place.SAME, {"is_trusted": True}, Decision.JOIN, id="a setting trusts the database"),
        pytest.param(OPEN, S, Place.RENAMED, {"is_trusted": True}, Decision.ASK_STRANGER, id="in its place only"),
        pytest.param(OPEN, S, Place.OTHER, {"is_trusted": True}, Decision.ASK_PLACE, id="and nowhere else"),
        pytest.param(IN_USE, S, Place.PROMOTED, {}, Decision.ASK_STRANGER, id="a stranger does not judge a promotion"),
        pytest.param(ANSWERED, S, Place.SAME, {}, Decision.JOIN, id="nobody has worked since the answer"),
        pytest.param(OPEN, V, Place.PROMOTED, {}, Decision.CALL_ROLL, id="a promotion that lost nothing"),
        pytest.param(
            OPEN, B, Place.PROMOTED, {"loss": timedelta(seconds=40)}, Decision.CALL_ROLL, id="one that lost seconds"
        ),
        pytest.param(OPEN, B, Place.SAME, {"loss": timedelta(minutes=3)}, Decision.ASK_LOSS, id="a backup put back"),
        pytest.param(OPEN, B, Place.SAME, {}, Decision.ASK_LOSS, id="a loss that nobody can measure"),
        pytest.param(OPEN, B, Place.OTHER, {"loss": timedelta(0)}, Decision.ASK_LOSS, id="a dump that lost something"),
        pytest.param(OPEN, V, Place.OTHER, {}, Decision.ASK_PLACE, id="a dump into another cluster"),
        pytest.param(OPEN, V, Place.RENAMED, {}, Decision.CALL_ROLL, id="a file that was moved or replaced"),
        pytest.param(OPEN, V, Place.RECREATED, {}, Decision.CALL_ROLL, id="a dump that lost nothing"),
        pytest.param(OPEN, B, Place.RECREATED, SMALL, Decision.CALL_ROLL, id="a dump that lost seconds"),
        pytest.param(IN_USE, S, Place.RECREATED, {}, Decision.ASK_STRANGER, id="a stranger does not judge a dump"),
        pytest.param(BY_STRANGER, V, Place.SAME, {}, Decision.REOPEN, id="who knows it answers for a stranger"),
        pytest.param(BY_STRANGER, S, Place.SAME, {"is_trusted": True}, Decision.WAIT, id="a stranger does not"),
        pytest.param(BY_LOSS, V, Place.SAME, {}, Decision.WAIT, id="a person has been asked"),
        pytest.param(COPY, V, Place.SAME, {}, Decision.WAIT, id="a copy stays closed"),
        pytest.param(COPY, V, Place.OTHER, {}, Decision.WAIT, id="wherever it is"),
        pytest.param(BY_LOSS, V, Place.OTHER, {}, Decision.WAIT, id="asked once"),
        pytest.param(BY_LOSS, B, Place.SAME, {}, Decision.ASK_LOSS, id="more of the loss comes to light"),
        pytest.param(CALLED, V, Place.SAME, {}, Decision.ANSWER_ROLL, id="a process answers the roll call"),
        pytest.param(CALLED, B, Place.SAME, SMALL, Decision.CALL_ROLL, id="and enters what it alone remembers"),
        pytest.param(CALLED, B, Place.SAME, {}, Decision.ASK_LOSS, id="unless that is too much"),
        pytest.param(CALLED, S, Place.SAME, {}, Decision.WAIT, id="a stranger waits for the roll call"),
        pytest.param(FORGOTTEN, S, Place.SAME, {}, Decision.ASK_STRANGER, id="but not for ever"),
    ],
)  # fmt: skip
def test_every_row_of_the_table(
    state: DatabaseState, knowledge: Knowledge, place: Place, options: dict[str, object], decision: Decision
) -> None:
    assert decide(state, knowledge, place, NOW, **options) is decision  # type: ignore[arg-type]


POSTGRES = ("postgres", "7001", "00000001", "16384", "16390")
OTHER_TABLES = ("postgres", "7001", "00000001", "16384", "16990")
FORMER_RELEASE = ("postgres", "7001", "00000001", "16384")  # its place does not name the tables
SQLITE = ("sqlite", "machine", "/data/postino.db", 12, 1.5)
ON_BOARD = ("sqlite", "machine/board", "/data/postino.db", 12, 1.5)


@pytest.mark.parametrize(
    ("place", "here", "is_old_file_there", "expected"),
    [
        (POSTGRES, POSTGRES, False, Place.SAME),
        (POSTGRES, ("postgres", "7001", "00000002", "16384", "16390"), False, Place.PROMOTED),
        (POSTGRES, ("postgres", "7002", "00000001", "16384", "16390"), False, Place.OTHER),
        (POSTGRES, ("postgres", "7001", "00000001", "16385", "16390"), False, Place.OTHER),
        (POSTGRES, OTHER_TABLES, False, Place.RECREATED),  # a dump was restored into the database
        (FORMER_RELEASE, POSTGRES, False, Place.SAME),
        (SQLITE, SQLITE, True, Place.SAME),
        (SQLITE, ("sqlite", "machine", "/data/postino.db", 12, 2.5), True, Place.RENAMED),
        (SQLITE, ("sqlite", "machine", "/new/postino.db", 13, 2.5), False, Place.RENAMED),
        (SQLITE, ("sqlite", "machine", "/new/postino.db", 13, 2.5), True, Place.OTHER),
        (SQLITE, ("sqlite", "machine", "/new/postino.db", 12, 1.5), True, Place.RENAMED),  # another name of the file
        (SQLITE, ("sqlite", "another", "/data/postino.db", 12, 1.5), False, Place.OTHER),
        (SQLITE, ("sqlite", "machine/board", "/data/postino.db", 12, 1.5), True, Place.SAME),  # not readable before
        (ON_BOARD, SQLITE, True, Place.SAME),  # not readable now
        (ON_BOARD, ("sqlite", "machine/clone", "/data/postino.db", 12, 1.5), False, Place.OTHER),
        (SQLITE, POSTGRES, False, Place.OTHER),
    ],
)
def test_places_are_compared(
    place: tuple[object, ...], here: tuple[object, ...], is_old_file_there: bool, expected: Place
) -> None:
    found = compare_places(json.dumps(place), json.dumps(here), is_old_file_there=is_old_file_there)
    assert found is expected


@pytest.mark.parametrize(
    ("place", "here", "expected"),
    [
        (SQLITE, SQLITE, True),
        (SQLITE, ("sqlite", "machine/board", "/new/postino.db", 12, 1.5), True),  # renamed
        (SQLITE, ("sqlite", "machine", "/data/postino.db", 12, 2.5), False),  # put back
        (SQLITE, ("sqlite", "another", "/data/postino.db", 12, 1.5), False),
        (POSTGRES, POSTGRES, True),
        (POSTGRES, OTHER_TABLES, False),
        (POSTGRES, ("postgres", "7001", "00000002", "16384", "16390"), False),
        (SQLITE, POSTGRES, False),
    ],
)
def test_unused_database_is_new_only_in_the_file_or_tables_of_its_creation(
    place: tuple[object, ...], here: tuple[object, ...], expected: bool
) -> None:
    assert is_still_there(json.dumps(place), json.dumps(here)) is expected


def test_unused_database_of_a_former_release_is_new() -> None:
    assert is_still_there(None, json.dumps(POSTGRES))


LEASE = timedelta(seconds=20)


def measure(*memories: Memory, state: DatabaseState = STATE, is_continuous: bool = True) -> timedelta | None:
    return measure_loss(memories, state, lease=LEASE, is_continuous=is_continuous)


def test_loss_is_measured_by_the_times_of_the_database() -> None:
    later = change(alive_at=LONG_AGO + timedelta(seconds=50))
    assert measure(KNOWS, later) == timedelta(seconds=50)
    assert measure(later, change(era="e3")) is None
    assert measure() is None


def test_loss_of_many_pulses_is_never_small() -> None:
    """The clock may have been set back."""
    assert measure(change(pulse=104)) == timedelta(0)
    assert measure(change(pulse=105)) is None


def test_loss_that_is_noticed_long_after_is_never_small() -> None:
    """The database was restored, and others have used it since. The times say nothing about what was lost before."""
    assert measure(change(pulse=96, counts={"w": 8})) == timedelta(0)
    late = change(pulse=95, counts={"w": 8})
    assert measure(late) is None
    assert measure(late, state=replace(STATE, counts={"w": 8}, lost_from={"w": 7})) == timedelta(0), "it was noticed"
    assert measure(KNOWS, change(pulse=3)) == timedelta(0), "an old memory that lacks nothing"


@pytest.mark.parametrize(
    ("age", "loss"),
    [(0, 0), (139, 0), (140, 0), (141, None), (17 * 3600, None), (-1, None)],
)
def test_loss_is_small_only_while_no_server_can_have_gone_on_for_long(age: int, loss: int | None) -> None:
    """Workers stopped soon after the backup, so that they remember little. A server accepted changes for hours."""
    state = replace(STATE, alive_at=NOW - timedelta(seconds=age))
    lost = change(pulse=101, alive_at=NOW - timedelta(seconds=age))
    expected = None if loss is None else timedelta(seconds=loss)
    assert measure(lost, state=state, is_continuous=False) == expected
    assert measure(lost, state=state) == timedelta(0), "a process that failed over has seen how long it took"


def test_double_is_recognised_by_the_mark() -> None:
    state = replace(STATE, marks={"w": "mine"})
    assert not is_id_used_twice(state, "w", 7, "other")
    assert not is_id_used_twice(state, "w", 6, "mine")  # the response of the commit is under way
    assert is_id_used_twice(state, "w", 6, "other")


def test_pulse_is_due_every_thirty_seconds() -> None:
    assert is_pulse_due(STATE)
    assert is_pulse_due(TO_COME)
    assert not is_pulse_due(replace(STATE, alive_at=NOW - timedelta(seconds=29)))


def test_first_process_after_an_answer_records_its_pulse_at_once() -> None:
    assert is_pulse_due(replace(STATE, alive_at=NOW, answered_pulse=STATE.pulse))


def test_advice_names_the_answers_that_fit() -> None:
    assert "accept moved" in str(advise_answer(BY_STRANGER))
    assert "moved" not in str(advise_answer(BY_LOSS))
    assert "--at 2026-03-29T00:00:00Z" in str(advise_answer(BY_LOSS))
    assert "accept restored" in str(advise_answer(COPY))
    assert advise_answer(STATE) is None
