"""Decide what to do about a visible call: send it, accept it as done, look it up, or ask a person.

It sends nothing. When lookups happen and end: `engine/call.py` and `rules/settlement.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from postino.rules.cooldown import DEFAULT_COOLDOWN
from postino.rules.receipt_checks import check_receipt
from postino.values.ledger import IntentEntry, Ledger, ReceiptEntry, Suspicion, Verdict
from postino.values.outcome import Outcome, RateLimited, Reject, Retry
from postino.values.provider import CannotTell, Failure, FailureKind, Found, LookupResult, NotFound, Receipt, Resend

SUSPICIONS = frozenset(Suspicion)
MAX_LOST_RESPONSES = 3  # then nothing is sent again: lookups go on, and without a lookup a person decides


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
    """The step may be live. `number` is that of the next call, if it is sent again."""

    intent: IntentEntry
    first_intended_at: datetime
    number: int
    lost_responses: int = 1  # calls without a receipt
    suspicion: Suspicion | None = None  # nothing is known to be sent, but the database has lost a part of its history


StepStatus = Accepted | ReadyToSend | UncertainStep


def get_step_status(ledger: Ledger, step: str) -> StepStatus:
    """Return what is known about a step. While the job is under suspicion, the first call is in doubt."""
    status = get_recorded_status(ledger, step)
    suspicions = list_suspicions(ledger)
    if not isinstance(status, ReadyToSend) or not suspicions:
        return status
    strictest = next((it for it in suspicions if it.step != Suspicion.EARLY), suspicions[0])
    first_intended_at = min(intent.intended_at for intent in suspicions)
    return UncertainStep(strictest, first_intended_at, status.number, suspicion=Suspicion(strictest.step))


def get_recorded_status(ledger: Ledger, step: str) -> StepStatus:
    """Return what intents and receipts of the step itself say."""
    for entry in ledger.receipts:
        if entry.step == step and entry.verdict is Verdict.ACCEPTED and entry.receipt is not None:
            return Accepted(entry.receipt)
    intents = [intent for intent in ledger.intents if intent.step == step]
    number = 1 + max((intent.number for intent in intents), default=0)
    still_open = [intent for intent in intents if not has_receipt(intent, ledger.receipts)]
    if not still_open:
        return ReadyToSend(number)
    return UncertainStep(still_open[-1], min(intent.intended_at for intent in still_open), number, len(still_open))


def list_suspicions(ledger: Ledger) -> list[IntentEntry]:
    """Return the suspicions without a receipt: intents that stand for calls that the database may have lost."""
    return [it for it in ledger.intents if it.step in SUSPICIONS and not has_receipt(it, ledger.receipts)]


def has_receipt(intent: IntentEntry, entries: Iterable[ReceiptEntry]) -> bool:
    return any(is_receipt_for(entry, intent) for entry in entries)


def is_receipt_for(entry: ReceiptEntry, intent: IntentEntry) -> bool:
    return (entry.step, entry.number) == (intent.step, intent.number)


def map_positions(ledger: Ledger) -> dict[int, str]:
    """Return the step at each position. A refused intent left nothing, and another step may take its place."""
    left = [
        intent
        for intent in ledger.intents
        if {entry.verdict for entry in ledger.receipts if is_receipt_for(entry, intent)} != {Verdict.REFUSED}
    ]
    return {step.position: step.name for step in ledger.steps} | {intent.position: intent.step for intent in left}


def can_be_live(ledger: Ledger) -> bool:
    """Return whether any step is live or may be."""
    return has_live_step(ledger) or bool(list_uncertain_intents(ledger))


def has_live_step(ledger: Ledger) -> bool:
    """Return whether the network has accepted a step."""
    return any(entry.verdict is Verdict.ACCEPTED for entry in ledger.receipts)


def list_uncertain_intents(ledger: Ledger) -> list[IntentEntry]:
    """Return the latest intent of every step whose result is unknown.

    A suspicion counts until a step is live, and not if the post was not due in the time that is lost.
    """
    ignored = SUSPICIONS if has_live_step(ledger) else {Suspicion.EARLY}
    steps = dict.fromkeys(intent.step for intent in ledger.intents if intent.step not in ignored)
    found = (get_recorded_status(ledger, step) for step in steps)
    return [doubt.intent for doubt in found if isinstance(doubt, UncertainStep)]


def list_open_intents(ledger: Ledger) -> list[IntentEntry]:
    """Return all intents without a receipt, except of steps that are live; suspicions always."""
    steps = {doubt.step for doubt in list_uncertain_intents(ledger)} | SUSPICIONS
    return [intent for intent in ledger.intents if intent.step in steps and not has_receipt(intent, ledger.receipts)]


def is_duplicate_receipt(ledger: Ledger, entry: ReceiptEntry) -> bool:
    """Return whether this stored receipt shows that its step is live under another id as well."""
    ids = [
        known.receipt.remote_id for known in ledger.receipts if known.step == entry.step and known.receipt is not None
    ]
    return entry.receipt is not None and len(set(ids)) > 1 and ids.count(entry.receipt.remote_id) == 1


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
    lookup_result: LookupResult, doubt: UncertainStep, resend: Resend, now: datetime
) -> Accepted | SendAgain | LookUpAgain | AskPerson:
    result = check_receipt(lookup_result.receipt) if isinstance(lookup_result, Found) else lookup_result
    match result:
        case Receipt() as receipt:
            return Accepted(receipt)
        case NotFound() if can_resend(doubt, resend, now):
            return SendAgain()
        case NotFound() | CannotTell() if doubt.suspicion:
            why = result.why if isinstance(result, CannotTell) else "The network does not show it."
            return AskPerson(describe_suspicion(doubt, why))
        case NotFound():
            return LookUpAgain("The network does not show it, which does not prove that it was not published.")
        case CannotTell(why):
            return LookUpAgain(why)


def decide_without_lookup(doubt: UncertainStep, resend: Resend, now: datetime) -> SendAgain | AskPerson:
    """Decide for a network without a lookup."""
    if can_resend(doubt, resend, now):
        return SendAgain()
    why = "The network offers no way to find out whether it was published."
    return AskPerson(describe_suspicion(doubt, why) if doubt.suspicion else why)


def can_resend(doubt: UncertainStep, resend: Resend, now: datetime) -> bool:
    """Return whether sending again is harmless: its key is still valid, and not too many responses were lost.

    Under suspicion, its handle or key must derive from the job. A post that was not due in the time that is lost is
    sent unless the network shows it.
    """
    if doubt.suspicion is Suspicion.EARLY:
        return True
    in_time = resend.within is None or now < doubt.first_intended_at + resend.within
    is_known = resend.is_derived or doubt.suspicion is None
    return resend.harmless and is_known and in_time and doubt.lost_responses < MAX_LOST_RESPONSES


def describe_suspicion(doubt: UncertainStep, why: str) -> str:
    """Say why a person must decide about a post of which nothing is known to be sent."""
    since, until = f"{doubt.first_intended_at:%Y-%m-%d %H:%M}", f"{doubt.intent.lookup_at:%Y-%m-%d %H:%M}"
    return f"The database has lost what happened from {since} to {until} UTC; this may have been published then. {why}"


def to_outcome(failure: Failure, now: datetime) -> Outcome:
    """Return the outcome of a failure that leaves no visible call in doubt."""
    match failure.kind:
        case FailureKind.RATE_LIMIT:
            return RateLimited(failure.until or now + DEFAULT_COOLDOWN, failure.message)
        case FailureKind.TRANSIENT | FailureKind.DOUBT:
            return Retry(failure.message, failure.until)
        case FailureKind.AUTH | FailureKind.SUSPENDED | FailureKind.PERMANENT:
            return Reject(failure.message)
