"""Decide what to do about a visible call: send it, accept it as done, look it up, or ask a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from postino.values.ledger import IntentEntry, Ledger, ReceiptEntry, Verdict
from postino.values.outcome import Outcome, RateLimited, Reject, Retry
from postino.values.provider import CannotTell, Failure, FailureKind, Found, LookupResult, NotFound, Receipt, Resend

MAX_LOST_RESPONSES = 3  # then even a harmless request is not repeated, and a person must decide
DEFAULT_COOLDOWN = timedelta(seconds=60)  # if the network does not say how long


@dataclass(frozen=True, slots=True)
class Accepted:
    """The step is live."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class ReadyToSend:
    """Nothing is live: the step may be sent, with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class UncertainStep:
    """The step may be live. A harmless repetition would have this number, after so many lost responses."""

    intent: IntentEntry
    first_intended_at: datetime
    number: int
    lost_responses: int = 1


StepStatus = Accepted | ReadyToSend | UncertainStep


def get_step_status(ledger: Ledger, step: str) -> StepStatus:
    for fact in ledger.receipts:
        if fact.step == step and fact.verdict is Verdict.ACCEPTED and fact.receipt is not None:
            return Accepted(fact.receipt)
    intents = [intent for intent in ledger.intents if intent.step == step]
    number = 1 + max((intent.number for intent in intents), default=0)
    still_open = [intent for intent in intents if not has_receipt(intent, ledger.receipts)]
    if not still_open:
        return ReadyToSend(number)
    return UncertainStep(still_open[-1], min(intent.intended_at for intent in still_open), number, len(still_open))


def has_receipt(intent: IntentEntry, facts: Iterable[ReceiptEntry]) -> bool:
    return any(is_receipt_for(fact, intent) for fact in facts)


def is_receipt_for(fact: ReceiptEntry, intent: IntentEntry) -> bool:
    return (fact.step, fact.number) == (intent.step, intent.number)


def map_positions(ledger: Ledger) -> dict[int, str]:
    """Return the step at each position. A refused intent left nothing, and another step may take its place."""
    left = [
        intent
        for intent in ledger.intents
        if {fact.verdict for fact in ledger.receipts if is_receipt_for(fact, intent)} != {Verdict.REFUSED}
    ]
    return {step.position: step.name for step in ledger.steps} | {intent.position: intent.step for intent in left}


def can_be_live(ledger: Ledger) -> bool:
    """Return whether any step is live or may be."""
    return any(fact.verdict is Verdict.ACCEPTED for fact in ledger.receipts) or bool(list_uncertain_intents(ledger))


def list_uncertain_intents(ledger: Ledger) -> list[IntentEntry]:
    """Return the latest intent of every step whose result is unknown."""
    steps = dict.fromkeys(intent.step for intent in ledger.intents)
    found = (get_step_status(ledger, step) for step in steps)
    return [doubt.intent for doubt in found if isinstance(doubt, UncertainStep)]


def list_open_intents(ledger: Ledger) -> list[IntentEntry]:
    """Return all intents without a receipt, except of steps that are live."""
    steps = {doubt.step for doubt in list_uncertain_intents(ledger)}
    return [intent for intent in ledger.intents if intent.step in steps and not has_receipt(intent, ledger.receipts)]


def is_duplicate_receipt(ledger: Ledger, fact: ReceiptEntry) -> bool:
    """Return whether this stored receipt shows that its step is live under another id as well."""
    ids = [
        known.receipt.remote_id for known in ledger.receipts if known.step == fact.step and known.receipt is not None
    ]
    return fact.receipt is not None and len(set(ids)) > 1 and ids.count(fact.receipt.remote_id) == 1


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Send it again: that is harmless."""


@dataclass(frozen=True, slots=True)
class LookUpAgain:
    """Look it up again later."""

    why: str


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Only a person can tell."""

    why: str


def decide_after_lookup(
    sighting: LookupResult, doubt: UncertainStep, resend: Resend, now: datetime
) -> Accepted | SendAgain | LookUpAgain:
    match sighting:
        case Found(receipt):
            return Accepted(receipt)
        case NotFound() if can_resend(doubt, resend, now):
            return SendAgain()
        case NotFound():
            return LookUpAgain("The network does not show it, which does not prove that it was not published.")
        case CannotTell(why):
            return LookUpAgain(why)


def decide_without_lookup(doubt: UncertainStep, resend: Resend, now: datetime) -> SendAgain | AskPerson:
    """Decide for a network without a lookup."""
    if can_resend(doubt, resend, now):
        return SendAgain()
    return AskPerson("The network offers no way to find out whether it was published.")


def can_resend(doubt: UncertainStep, resend: Resend, now: datetime) -> bool:
    """Return whether sending again is harmless: its key is still valid, and not too many responses were lost."""
    in_time = resend.within is None or now < doubt.first_intended_at + resend.within
    return resend.harmless and in_time and doubt.lost_responses < MAX_LOST_RESPONSES


def to_outcome(failure: Failure, now: datetime) -> Outcome:
    """Return the outcome of a job that the network refused, when nothing is uncertain."""
    match failure.kind:
        case FailureKind.RATE_LIMIT:
            return RateLimited(failure.until or now + DEFAULT_COOLDOWN, failure.message)
        case FailureKind.TRANSIENT | FailureKind.DOUBT:
            return Retry(failure.message, failure.until)
        case FailureKind.AUTH | FailureKind.SUSPENDED | FailureKind.PERMANENT:
            return Reject(failure.message)
