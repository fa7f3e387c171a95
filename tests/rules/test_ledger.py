"""What may be done about a visible call: tables of ledgers and what they mean, and what holds for every ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.ledger import (
    DEFAULT_COOLDOWN,
    MAX_LOST_RESPONSES,
    Accepted,
    AskPerson,
    LookUpAgain,
    ReadyToSend,
    SendAgain,
    StepStatus,
    UncertainStep,
    can_be_live,
    can_resend,
    decide_after_lookup,
    decide_without_lookup,
    get_step_status,
    is_duplicate_receipt,
    list_open_intents,
    list_uncertain_intents,
    map_positions,
    to_outcome,
)
from postino.values.ledger import IntentEntry, Ledger, ReceiptEntry, ReceiptSource, StepEntry, Verdict
from postino.values.outcome import Outcome, RateLimited, Reject, Retry
from postino.values.provider import (
    DUPLICATE_RULE,
    NEVER,
    SAME_HANDLE,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    LookupResult,
    NotFound,
    Receipt,
    Resend,
    resend_with_key,
)

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def intent(number: int = 1, step: str = "post", position: int = 0) -> IntentEntry:
    """The first an hour ago, each of the next a minute later."""
    at = NOW - HOUR + timedelta(minutes=number - 1)
    lookup_at = at + timedelta(seconds=40)
    return IntentEntry(
        step=step, position=position, number=number, intended_at=at, send_before_at=at, lookup_at=lookup_at
    )


def accepted(remote_id: str = "r1", number: int = 1, step: str = "post") -> ReceiptEntry:
    receipt = Receipt(remote_id=remote_id)
    return ReceiptEntry(step=step, number=number, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt)


def refused(number: int = 1, step: str = "post") -> ReceiptEntry:
    return ReceiptEntry(step=step, number=number, verdict=Verdict.REFUSED, source=ReceiptSource.CALL)


def ledger(*entries: IntentEntry | ReceiptEntry | StepEntry) -> Ledger:
    return Ledger(
        tuple(entry for entry in entries if isinstance(entry, StepEntry)),
        tuple(entry for entry in entries if isinstance(entry, IntentEntry)),
        tuple(entry for entry in entries if isinstance(entry, ReceiptEntry)),
    )


def lost(last: int, *, first: int = 1, many: int = 1) -> UncertainStep:
    return UncertainStep(intent(last), intent(first).intended_at, last + 1, many)


FIRST = Accepted(Receipt(remote_id="r1"))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (ledger(), ReadyToSend(1)),
        (ledger(intent(1, "other")), ReadyToSend(1)),
        (ledger(intent()), lost(1)),
        (ledger(intent(), refused()), ReadyToSend(2)),
        (ledger(intent(), accepted()), FIRST),
        (ledger(accepted()), FIRST),  # a fact from anyone, even without the intent
        (ledger(intent(), accepted(step="other")), lost(1)),
        (ledger(intent(), accepted(number=2)), FIRST),
        (ledger(intent(1), intent(2)), lost(2, many=2)),
        (ledger(intent(1), intent(2), refused(2)), UncertainStep(intent(1), intent(1).intended_at, 3, 1)),
        (ledger(intent(1), intent(2), refused(1)), lost(2, first=2)),
        (ledger(intent(1), intent(2), refused(1), refused(2)), ReadyToSend(3)),
        (ledger(intent(1), intent(2), accepted(number=1)), FIRST),
        (ledger(intent(1), intent(2), accepted(number=2)), FIRST),
        (ledger(intent(), refused(), accepted()), FIRST),  # a person said no, and then the answer came
        (ledger(intent(), accepted("r1"), accepted("r2")), FIRST),
    ],
)
def test_what_became_of_a_step(known: Ledger, expected: StepStatus) -> None:
    assert get_step_status(known, "post") == expected


THREAD = (intent(1, "part 1"), intent(2, "part 1"), accepted("r1", 2, "part 1"), intent(1, "part 2", 1))


@pytest.mark.parametrize(
    ("known", "in_doubt", "behind_it", "out"),
    [
        (ledger(), [], [], False),
        (ledger(intent(), refused()), [], [], False),
        (ledger(intent(), accepted()), [], [], True),
        (ledger(intent()), [("post", 1)], [("post", 1)], True),
        (ledger(intent(1), intent(2)), [("post", 2)], [("post", 1), ("post", 2)], True),
        (ledger(intent(1), intent(2), refused(2)), [("post", 1)], [("post", 1)], True),
        (ledger(*THREAD), [("part 2", 1)], [("part 2", 1)], True),
        (ledger(*THREAD, refused(1, "part 2")), [], [], True),
    ],
)
def test_what_is_in_doubt_and_what_is_out(
    known: Ledger, in_doubt: list[tuple[str, int]], behind_it: list[tuple[str, int]], out: bool
) -> None:
    assert [(doubt.step, doubt.number) for doubt in list_uncertain_intents(known)] == in_doubt
    assert [(call.step, call.number) for call in list_open_intents(known)] == behind_it
    assert can_be_live(known) is out


@pytest.mark.parametrize(
    ("known", "news", "expected"),
    [
        ((), accepted("r1"), False),
        ((accepted("r1"),), accepted("r2"), True),
        ((accepted("r1", 1),), accepted("r2", 2), True),
        ((accepted("r1", 1),), accepted("r1", 2), False),
        ((accepted("r1"),), refused(2), False),
        ((accepted("r1"), accepted("r2")), accepted("r3"), True),
        ((accepted("r1"), accepted("r2", 2)), accepted("r1", 3), False),
        ((accepted("r1"), accepted("r2")), accepted("r3", step="other"), False),
        ((accepted("r1", step="other"),), accepted("r2"), False),
    ],
)
def test_what_is_out_there_under_one_id_more_than_was_known_is_a_duplicate(
    known: tuple[ReceiptEntry, ...], news: ReceiptEntry, expected: bool
) -> None:
    assert is_duplicate_receipt(ledger(*known, news), news) is expected


STEP = StepEntry(name="picture", position=0, asked_at=NOW)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (ledger(STEP), {0: "picture"}),
        (ledger(STEP, intent(position=1)), {0: "picture", 1: "post"}),
        (ledger(intent(position=1), accepted()), {1: "post"}),
        (ledger(intent(position=1), refused()), {}),
        (ledger(intent(position=1), refused(), accepted()), {1: "post"}),
        (ledger(intent(1), intent(2), refused(1)), {0: "post"}),
        (ledger(intent(1), intent(2), refused(1), refused(2)), {}),
    ],
)
def test_where_each_step_stands_but_what_was_refused_stands_nowhere(known: Ledger, expected: dict[int, str]) -> None:
    assert map_positions(known) == expected


# After a look, or without one

RECEIPT = Receipt(remote_id="r1")
SEEN, UNSEEN, UNSURE = Found(RECEIPT), NotFound(), CannotTell("there are two")


@pytest.mark.parametrize(
    "resend", [SAME_HANDLE, DUPLICATE_RULE, NEVER, resend_with_key(2 * HOUR), resend_with_key(HOUR / 2)]
)
def test_what_is_found_is_accepted(resend: Resend) -> None:
    assert decide_after_lookup(SEEN, lost(1), resend, NOW) == Accepted(RECEIPT)


@pytest.mark.parametrize(
    ("sighting", "resend", "again"),
    [
        (UNSEEN, SAME_HANDLE, True),
        (UNSEEN, DUPLICATE_RULE, True),
        (UNSEEN, resend_with_key(2 * HOUR), True),
        (UNSEEN, resend_with_key(HOUR), False),
        (UNSEEN, NEVER, False),
        (UNSURE, SAME_HANDLE, False),
        (UNSURE, NEVER, False),
    ],
)
def test_what_is_not_found_is_sent_again_only_where_that_is_harmless(
    sighting: LookupResult, resend: Resend, again: bool
) -> None:
    decided = decide_after_lookup(sighting, lost(1), resend, NOW)
    assert isinstance(decided, SendAgain if again else LookUpAgain)
    if sighting is UNSURE:
        assert decided == LookUpAgain("there are two")


@pytest.mark.parametrize(
    ("resend", "again"),
    [(SAME_HANDLE, True), (resend_with_key(2 * HOUR), True), (resend_with_key(HOUR), False), (NEVER, False)],
)
def test_where_nobody_can_look_a_person_is_asked_unless_sending_again_is_harmless(resend: Resend, again: bool) -> None:
    assert isinstance(decide_without_lookup(lost(1), resend, NOW), SendAgain if again else AskPerson)


@pytest.mark.parametrize(("past", "good"), [(-1, True), (0, False), (1, False)])
def test_a_key_is_good_for_a_while_counted_from_its_first_use(past: int, good: bool) -> None:
    key, first_used_at = resend_with_key(timedelta(minutes=30)), intent(1).intended_at
    at = first_used_at + timedelta(minutes=30, seconds=past)
    assert can_resend(lost(1), key, at) is good
    assert can_resend(lost(2, first=1, many=2), key, at) is good, "using it again makes it no younger"


@pytest.mark.parametrize(
    ("answers", "again"), [(1, True), (MAX_LOST_RESPONSES - 1, True), (MAX_LOST_RESPONSES, False), (99, False)]
)
def test_what_is_harmless_is_not_repeated_for_ever(answers: int, again: bool) -> None:
    assert can_resend(lost(answers, many=answers), SAME_HANDLE, NOW) is again


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(FailureKind.RATE_LIMIT, "slow down", until=NOW + HOUR), RateLimited(NOW + HOUR, "slow down")),
        (Failure(FailureKind.RATE_LIMIT, "slow down"), RateLimited(NOW + DEFAULT_COOLDOWN, "slow down")),
        (Failure(FailureKind.TRANSIENT, "busy"), Retry("busy")),
        (Failure(FailureKind.TRANSIENT, "busy", until=NOW + HOUR), Retry("busy", NOW + HOUR)),
        (Failure(FailureKind.DOUBT, "odd"), Retry("odd")),
        (Failure(FailureKind.AUTH, "who are you"), Reject("who are you")),
        (Failure(FailureKind.PERMANENT, "too long"), Reject("too long")),
    ],
)
def test_a_no_has_its_outcome(failure: Failure, expected: Outcome) -> None:
    assert to_outcome(failure, NOW) == expected


# For every ledger

steps = st.sampled_from(("part 1", "part 2", "part 3"))
numbers = st.integers(1, 4)
intents = st.builds(intent, numbers, steps)
facts = st.one_of(
    st.builds(accepted, st.sampled_from(("r1", "r2", "r3")), numbers, steps), st.builds(refused, numbers, steps)
)
ledgers = st.builds(
    lambda intents, facts: ledger(*sorted(intents, key=lambda entry: (entry.step, entry.number)), *facts),
    st.lists(intents, max_size=8, unique_by=lambda entry: (entry.step, entry.number)),
    st.lists(facts, max_size=6),
)


@given(ledgers, steps)
def test_nothing_is_sent_that_is_out_there_or_may_be(known: Ledger, step: str) -> None:
    ours = [entry for entry in known.intents if entry.step == step]
    answers = {number: {fact.verdict for fact in known.receipts if (fact.step, fact.number) == (step, number)}
               for number in range(1, 5)}  # fmt: skip
    match get_step_status(known, step):
        case ReadyToSend(number):
            assert all(answers[entry.number] == {Verdict.REFUSED} for entry in ours)
            assert all(entry.number < number for entry in ours), "an intent is never used twice"
        case UncertainStep(doubted, first_at, number, many):
            assert doubted in ours
            assert not answers[doubted.number]
            assert first_at <= doubted.intended_at
            assert all(entry.number < number for entry in ours)
            assert many == sum(not answers[entry.number] for entry in ours)
        case Accepted(receipt):
            assert receipt in [fact.receipt for fact in known.receipts if fact.step == step]


@given(ledgers)
def test_the_doubts_are_the_steps_in_doubt_each_once(known: Ledger) -> None:
    named = [doubt.step for doubt in list_uncertain_intents(known)]
    assert sorted(named) == sorted({entry.step for entry in known.intents if is_doubtful(known, entry.step)})
    assert {entry.step for entry in list_open_intents(known)} == set(named)


@given(ledgers, st.sampled_from([*Verdict]))
def test_an_answer_to_everything_in_doubt_leaves_no_doubt(known: Ledger, verdict: Verdict) -> None:
    told = [
        accepted("new", call.number, call.step) if verdict is Verdict.ACCEPTED else refused(call.number, call.step)
        for call in list_open_intents(known)
    ]
    assert list_uncertain_intents(ledger(*known.intents, *known.receipts, *told)) == []


@given(ledgers, st.integers(0, 200), st.sampled_from([SAME_HANDLE, NEVER, resend_with_key(HOUR)]))
def test_only_a_found_one_is_accepted_and_only_a_harmless_one_sent_again(
    known: Ledger, minutes: int, resend: Resend
) -> None:
    for step in ("part 1", "part 2", "part 3"):
        doubt = get_step_status(known, step)
        if isinstance(doubt, UncertainStep):
            at = NOW + timedelta(minutes=minutes)
            decided = decide_after_lookup(UNSEEN, doubt, resend, at)
            assert isinstance(decided, SendAgain) is can_resend(doubt, resend, at)
            assert isinstance(decide_without_lookup(doubt, resend, at), SendAgain) is can_resend(doubt, resend, at)
            assert can_resend(doubt, resend, at) <= resend.harmless


def is_doubtful(known: Ledger, step: str) -> bool:
    return isinstance(get_step_status(known, step), UncertainStep)
