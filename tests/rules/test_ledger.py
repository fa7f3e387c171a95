"""The ledger rules: when a visible call may be sent again, as tables and as properties of every ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.cooldown import DEFAULT_COOLDOWN
from postino.rules.ledger import (
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
from postino.values.ledger import IntentEntry, Ledger, ReceiptEntry, ReceiptSource, StepEntry, Suspicion, Verdict
from postino.values.outcome import Outcome, RateLimited, Reject, Retry
from postino.values.provider import (
    DERIVED_HANDLE,
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
    """Return an intent: number 1 is an hour old, each following one a minute younger."""
    at = NOW - HOUR + timedelta(minutes=number - 1)
    lookup_at = at + timedelta(seconds=40)
    return IntentEntry(
        step=step, position=position, number=number, intended_at=at, send_before_at=at, lookup_at=lookup_at
    )


def acceptance(remote_id: str = "r1", number: int = 1, step: str = "post") -> ReceiptEntry:
    receipt = Receipt(remote_id=remote_id)
    return ReceiptEntry(step=step, number=number, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt)


def refusal(number: int = 1, step: str = "post") -> ReceiptEntry:
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
        (ledger(intent(), refusal()), ReadyToSend(2)),
        (ledger(intent(), acceptance()), FIRST),
        (ledger(acceptance()), FIRST),  # a receipt counts even without its intent
        (ledger(intent(), acceptance(step="other")), lost(1)),
        (ledger(intent(), acceptance(number=2)), FIRST),
        (ledger(intent(1), intent(2)), lost(2, many=2)),
        (ledger(intent(1), intent(2), refusal(2)), UncertainStep(intent(1), intent(1).intended_at, 3, 1)),
        (ledger(intent(1), intent(2), refusal(1)), lost(2, first=2)),
        (ledger(intent(1), intent(2), refusal(1), refusal(2)), ReadyToSend(3)),
        (ledger(intent(1), intent(2), acceptance(number=1)), FIRST),
        (ledger(intent(1), intent(2), acceptance(number=2)), FIRST),
        (ledger(intent(), refusal(), acceptance()), FIRST),  # refused by a person, then the response arrived
        (ledger(intent(), acceptance("r1"), acceptance("r2")), FIRST),
    ],
)
def test_the_ledger_decides_the_status_of_a_step(known: Ledger, expected: StepStatus) -> None:
    assert get_step_status(known, "post") == expected


THREAD = (intent(1, "part 1"), intent(2, "part 1"), acceptance("r1", 2, "part 1"), intent(1, "part 2", 1))


@pytest.mark.parametrize(
    ("known", "in_doubt", "open_intents", "live"),
    [
        (ledger(), [], [], False),
        (ledger(intent(), refusal()), [], [], False),
        (ledger(intent(), acceptance()), [], [], True),
        (ledger(intent()), [("post", 1)], [("post", 1)], True),
        (ledger(intent(1), intent(2)), [("post", 2)], [("post", 1), ("post", 2)], True),
        (ledger(intent(1), intent(2), refusal(2)), [("post", 1)], [("post", 1)], True),
        (ledger(*THREAD), [("part 2", 1)], [("part 2", 1)], True),
        (ledger(*THREAD, refusal(1, "part 2")), [], [], True),
    ],
)
def test_the_ledger_lists_doubts_and_whether_a_post_can_be_live(
    known: Ledger, in_doubt: list[tuple[str, int]], open_intents: list[tuple[str, int]], live: bool
) -> None:
    assert [(doubt.step, doubt.number) for doubt in list_uncertain_intents(known)] == in_doubt
    assert [(call.step, call.number) for call in list_open_intents(known)] == open_intents
    assert can_be_live(known) is live


@pytest.mark.parametrize(
    ("known", "news", "expected"),
    [
        ((), acceptance("r1"), False),
        ((acceptance("r1"),), acceptance("r2"), True),
        ((acceptance("r1", 1),), acceptance("r2", 2), True),
        ((acceptance("r1", 1),), acceptance("r1", 2), False),
        ((acceptance("r1"),), refusal(2), False),
        ((acceptance("r1"), acceptance("r2")), acceptance("r3"), True),
        ((acceptance("r1"), acceptance("r2", 2)), acceptance("r1", 3), False),
        ((acceptance("r1"), acceptance("r2")), acceptance("r3", step="other"), False),
        ((acceptance("r1", step="other"),), acceptance("r2"), False),
    ],
)
def test_a_second_remote_id_for_a_step_is_a_duplicate(
    known: tuple[ReceiptEntry, ...], news: ReceiptEntry, expected: bool
) -> None:
    assert is_duplicate_receipt(ledger(*known, news), news) is expected


STEP = StepEntry(name="picture", position=0, asked_at=NOW)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (ledger(STEP), {0: "picture"}),
        (ledger(STEP, intent(position=1)), {0: "picture", 1: "post"}),
        (ledger(intent(position=1), acceptance()), {1: "post"}),
        (ledger(intent(position=1), refusal()), {}),
        (ledger(intent(position=1), refusal(), acceptance()), {1: "post"}),
        (ledger(intent(1), intent(2), refusal(1)), {0: "post"}),
        (ledger(intent(1), intent(2), refusal(1), refusal(2)), {}),
    ],
)
def test_every_step_has_a_position_except_refused_ones(known: Ledger, expected: dict[int, str]) -> None:
    assert map_positions(known) == expected


# After a lookup, or without one

RECEIPT = Receipt(remote_id="r1")
FOUND, NOT_FOUND, CANNOT_TELL = Found(RECEIPT), NotFound(), CannotTell("there are two")


@pytest.mark.parametrize(
    "resend", [SAME_HANDLE, DUPLICATE_RULE, NEVER, resend_with_key(2 * HOUR), resend_with_key(HOUR / 2)]
)
def test_a_found_post_is_accepted(resend: Resend) -> None:
    assert decide_after_lookup(FOUND, lost(1), resend, NOW) == Accepted(RECEIPT)


@pytest.mark.parametrize(
    ("result", "resend", "again"),
    [
        (NOT_FOUND, SAME_HANDLE, True),
        (NOT_FOUND, DUPLICATE_RULE, True),
        (NOT_FOUND, resend_with_key(2 * HOUR), True),
        (NOT_FOUND, resend_with_key(HOUR), False),
        (NOT_FOUND, NEVER, False),
        (CANNOT_TELL, SAME_HANDLE, False),
        (CANNOT_TELL, NEVER, False),
    ],
)
def test_a_missing_post_is_resent_only_where_that_is_harmless(
    result: LookupResult, resend: Resend, again: bool
) -> None:
    decision = decide_after_lookup(result, lost(1), resend, NOW)
    assert isinstance(decision, SendAgain if again else LookUpAgain)
    if result is CANNOT_TELL:
        assert decision == LookUpAgain("there are two")


@pytest.mark.parametrize(
    ("resend", "again"),
    [(SAME_HANDLE, True), (resend_with_key(2 * HOUR), True), (resend_with_key(HOUR), False), (NEVER, False)],
)
def test_without_a_lookup_a_person_decides_unless_a_resend_is_harmless(resend: Resend, again: bool) -> None:
    assert isinstance(decide_without_lookup(lost(1), resend, NOW), SendAgain if again else AskPerson)


@pytest.mark.parametrize(("past", "good"), [(-1, True), (0, False), (1, False)])
def test_an_idempotency_key_expires_after_its_first_use(past: int, good: bool) -> None:
    key, first_used_at = resend_with_key(timedelta(minutes=30)), intent(1).intended_at
    at = first_used_at + timedelta(minutes=30, seconds=past)
    assert can_resend(lost(1), key, at) is good
    assert can_resend(lost(2, first=1, many=2), key, at) is good, "using the key again does not extend it"


@pytest.mark.parametrize(
    ("lost_responses", "again"), [(1, True), (MAX_LOST_RESPONSES - 1, True), (MAX_LOST_RESPONSES, False), (99, False)]
)
def test_harmless_resends_end_after_too_many_lost_responses(lost_responses: int, again: bool) -> None:
    assert can_resend(lost(lost_responses, many=lost_responses), SAME_HANDLE, NOW) is again


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
def test_each_failure_has_an_outcome(failure: Failure, expected: Outcome) -> None:
    assert to_outcome(failure, NOW) == expected


# For every ledger

steps = st.sampled_from(("part 1", "part 2", "part 3"))
numbers = st.integers(1, 4)
intents = st.builds(intent, numbers, steps)
facts = st.one_of(
    st.builds(acceptance, st.sampled_from(("r1", "r2", "r3")), numbers, steps), st.builds(refusal, numbers, steps)
)
ledgers = st.builds(
    lambda intents, facts: ledger(*sorted(intents, key=lambda entry: (entry.step, entry.number)), *facts),
    st.lists(intents, max_size=8, unique_by=lambda entry: (entry.step, entry.number)),
    st.lists(facts, max_size=6),
)


@given(ledgers, steps)
def test_no_step_that_may_be_live_is_ready_to_send(known: Ledger, step: str) -> None:
    step_intents = [entry for entry in known.intents if entry.step == step]
    verdicts = {number: {entry.verdict for entry in known.receipts if (entry.step, entry.number) == (step, number)}
               for number in range(1, 5)}  # fmt: skip
    match get_step_status(known, step):
        case ReadyToSend(number):
            assert all(verdicts[entry.number] == {Verdict.REFUSED} for entry in step_intents)
            assert all(entry.number < number for entry in step_intents), "an intent is never used twice"
        case UncertainStep(doubted, first_at, number, many):
            assert doubted in step_intents
            assert not verdicts[doubted.number]
            assert first_at <= doubted.intended_at
            assert all(entry.number < number for entry in step_intents)
            assert many == sum(not verdicts[entry.number] for entry in step_intents)
        case Accepted(receipt):
            assert receipt in [entry.receipt for entry in known.receipts if entry.step == step]


@given(ledgers)
def test_each_uncertain_step_is_listed_once(known: Ledger) -> None:
    steps_in_doubt = [doubt.step for doubt in list_uncertain_intents(known)]
    assert sorted(steps_in_doubt) == sorted({entry.step for entry in known.intents if is_in_doubt(known, entry.step)})
    assert {entry.step for entry in list_open_intents(known)} == set(steps_in_doubt)


@given(ledgers, st.sampled_from([*Verdict]))
def test_a_receipt_for_every_open_intent_leaves_no_doubt(known: Ledger, verdict: Verdict) -> None:
    new_receipts = [
        acceptance("new", call.number, call.step) if verdict is Verdict.ACCEPTED else refusal(call.number, call.step)
        for call in list_open_intents(known)
    ]
    assert list_uncertain_intents(ledger(*known.intents, *known.receipts, *new_receipts)) == []


@given(ledgers, st.integers(0, 200), st.sampled_from([SAME_HANDLE, NEVER, resend_with_key(HOUR)]))
def test_a_missing_post_is_resent_exactly_when_it_can_be_resent(known: Ledger, minutes: int, resend: Resend) -> None:
    for step in ("part 1", "part 2", "part 3"):
        doubt = get_step_status(known, step)
        if isinstance(doubt, UncertainStep):
            at = NOW + timedelta(minutes=minutes)
            decision = decide_after_lookup(NOT_FOUND, doubt, resend, at)
            assert isinstance(decision, SendAgain) is can_resend(doubt, resend, at)
            assert isinstance(decide_without_lookup(doubt, resend, at), SendAgain) is can_resend(doubt, resend, at)
            assert can_resend(doubt, resend, at) <= resend.harmless


def is_in_doubt(known: Ledger, step: str) -> bool:
    return isinstance(get_step_status(known, step), UncertainStep)


# Posts that the database may have lost to be published

FRESH_KEY, OLD_KEY = (resend_with_key(within, is_derived=True) for within in (2 * HOUR, timedelta(minutes=59)))
R, A, E = Suspicion.RESTORED, Suspicion.ABSENT, Suspicion.EARLY


def suspect(*kinds: Suspicion) -> Ledger:
    return ledger(*(intent(step=kind, position=-1) for kind in kinds))


def suspicion(*kinds: Suspicion) -> UncertainStep:
    doubt = get_step_status(suspect(*kinds), "post")
    assert isinstance(doubt, UncertainStep)
    return doubt


@pytest.mark.parametrize("kind", [R, A])
@pytest.mark.parametrize(
    ("resend", "is_sent"),
    [
        (DERIVED_HANDLE, True),
        (FRESH_KEY, True),
        (OLD_KEY, False),  # the network has forgotten it since
        (SAME_HANDLE, False),  # the handle may have been lost with its step
        (resend_with_key(2 * HOUR), False),
        (DUPLICATE_RULE, False),
        (NEVER, False),
    ],
)
def test_suspect_that_the_network_does_not_show_is_sent_only_with_a_derived_key(
    kind: Suspicion, resend: Resend, is_sent: bool
) -> None:
    doubt = suspicion(kind)
    assert (doubt.suspicion, doubt.number) == (kind, 1)
    for decision in (decide_after_lookup(NotFound(), doubt, resend, NOW), decide_without_lookup(doubt, resend, NOW)):
        assert isinstance(decision, SendAgain if is_sent else AskPerson)


def test_suspect_that_the_network_cannot_tell_of_waits_for_a_person_at_once() -> None:
    for kind in Suspicion:
        assert isinstance(decide_after_lookup(CannotTell("two"), suspicion(kind), DERIVED_HANDLE, NOW), AskPerson)
        assert isinstance(decide_after_lookup(Found(Receipt(remote_id="r")), suspicion(kind), NEVER, NOW), Accepted)


@pytest.mark.parametrize("resend", [NEVER, SAME_HANDLE, OLD_KEY])
def test_post_that_was_not_due_is_sent_unless_the_network_shows_it(resend: Resend) -> None:
    assert decide_without_lookup(suspicion(E), resend, NOW) == SendAgain()
    assert decide_after_lookup(NotFound(), suspicion(E), resend, NOW) == SendAgain()
    assert isinstance(decide_without_lookup(suspicion(E, R), NEVER, NOW), AskPerson), "the stricter one counts"
    assert not can_be_live(suspect(E))
    assert can_be_live(suspect(E, R))


def test_suspicion_ends_with_an_answer_and_yields_to_what_is_known() -> None:
    whole = suspect(R)
    assert get_step_status(replace(whole, receipts=(refusal(step=R),)), "post") == ReadyToSend(1)
    live = replace(whole, receipts=(acceptance(),))
    assert isinstance(get_step_status(live, "post"), Accepted)
    assert isinstance(get_step_status(live, "next part"), UncertainStep)
    assert list_uncertain_intents(live) == [], "it may complete"
    sent = replace(whole, intents=(*whole.intents, intent()))
    doubt = get_step_status(sent, "post")
    assert isinstance(doubt, UncertainStep)
    assert doubt.suspicion is None
    assert [it.step for it in list_open_intents(sent)] == [R, "post"]
