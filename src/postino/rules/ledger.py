"""What may be done about a visible call: send it, take it for done, look for it, or ask a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from postino.values.ledger import Fact, IntentEntry, Ledger, Verdict
from postino.values.outcome import Limited, Outcome, Reject, Retry
from postino.values.provider import CannotTell, Failure, Found, Kind, NotFound, Receipt, Resend, Sighting

MOST_LOST = 3  # answers, after which what is harmless to repeat is not repeated any more: a person is asked
COOL_DOWN = timedelta(seconds=60)  # after "too many" without a word about how long


@dataclass(frozen=True, slots=True)
class Accepted:
    """It is out there."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Clear:
    """Nothing is out there: it may be sent, under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Something may be out there. A harmless repetition would have this number, after so many lost answers."""

    intent: IntentEntry
    first_intended_at: datetime
    number: int
    lost: int = 1


Fate = Accepted | Clear | InDoubt


def fate(ledger: Ledger, step: str) -> Fate:
    for fact in ledger.facts:
        if fact.step == step and fact.verdict is Verdict.ACCEPTED and fact.receipt is not None:
            return Accepted(fact.receipt)
    intents = [intent for intent in ledger.intents if intent.step == step]
    number = 1 + max((intent.number for intent in intents), default=0)
    still_open = [intent for intent in intents if not answered(intent, ledger.facts)]
    if not still_open:
        return Clear(number)
    return InDoubt(still_open[-1], min(intent.intended_at for intent in still_open), number, len(still_open))


def answered(intent: IntentEntry, facts: Iterable[Fact]) -> bool:
    return any(answers(fact, intent) for fact in facts)


def answers(fact: Fact, intent: IntentEntry) -> bool:
    return (fact.step, fact.number) == (intent.step, intent.number)


def order(ledger: Ledger) -> dict[int, str]:
    """Which step stands where. What was refused left nothing behind, and another may stand in its place."""
    left = [
        intent
        for intent in ledger.intents
        if {fact.verdict for fact in ledger.facts if answers(fact, intent)} != {Verdict.REFUSED}
    ]
    return {step.position: step.name for step in ledger.steps} | {intent.position: intent.step for intent in left}


def is_out(ledger: Ledger) -> bool:
    """Whether something is out there, or may be."""
    return any(fact.verdict is Verdict.ACCEPTED for fact in ledger.facts) or bool(doubts(ledger))


def doubts(ledger: Ledger) -> list[IntentEntry]:
    """Every visible call of which nobody knows what became, one for each step, the latest."""
    steps = dict.fromkeys(intent.step for intent in ledger.intents)
    found = (fate(ledger, step) for step in steps)
    return [doubt.intent for doubt in found if isinstance(doubt, InDoubt)]


def unanswered(ledger: Ledger) -> list[IntentEntry]:
    """All the visible calls behind those doubts; what is unanswered of a step that is out there does not matter."""
    steps = {doubt.step for doubt in doubts(ledger)}
    return [intent for intent in ledger.intents if intent.step in steps and not answered(intent, ledger.facts)]


def doubled(ledger: Ledger, fact: Fact) -> bool:
    """Whether this fact, by now in the ledger, shows its step out there under one id more than was known."""
    ids = [known.receipt.remote_id for known in ledger.facts if known.step == fact.step and known.receipt is not None]
    return fact.receipt is not None and len(set(ids)) > 1 and ids.count(fact.receipt.remote_id) == 1


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Harmless."""


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Not known yet."""

    why: str


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Nobody but a person can tell."""

    why: str


def after_look(sighting: Sighting, doubt: InDoubt, resend: Resend, now: datetime) -> Accepted | SendAgain | LookAgain:
    match sighting:
        case Found(receipt):
            return Accepted(receipt)
        case NotFound() if may_resend(doubt, resend, now):
            return SendAgain()
        case NotFound():
            return LookAgain("It is not to be seen there, which does not prove that it is not there.")
        case CannotTell(why):
            return LookAgain(why)


def without_look(doubt: InDoubt, resend: Resend, now: datetime) -> SendAgain | AskPerson:
    """Where the network cannot be asked."""
    if may_resend(doubt, resend, now):
        return SendAgain()
    return AskPerson("The network offers no way to ask whether it arrived.")


def may_resend(doubt: InDoubt, resend: Resend, now: datetime) -> bool:
    """A key is good for a while only, counted from when it was first used; and nothing is repeated for ever."""
    in_time = resend.within is None or now < doubt.first_intended_at + resend.within
    return resend.harmless and in_time and doubt.lost < MOST_LOST


def outcome_of(failure: Failure, now: datetime) -> Outcome:
    """What becomes of a job to which a network said no, when nothing is in doubt."""
    match failure.kind:
        case Kind.RATE_LIMIT:
            return Limited(failure.until or now + COOL_DOWN, failure.message)
        case Kind.TRANSIENT | Kind.DOUBT:
            return Retry(failure.message, failure.until)
        case Kind.AUTH | Kind.PERMANENT:
            return Reject(failure.message)
