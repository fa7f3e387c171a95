"""A network in memory that publishes what it is sent and responds as a test arranges."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from postino import Call, Done, Job, Outcome, Postino, State
from postino.values.ledger import CallPolicy, ReceiptSource, Verdict
from postino.values.provider import (
    NEVER,
    Failure,
    FailureKind,
    Found,
    Http,
    Intent,
    Lookup,
    LookupResult,
    LostResponse,
    NotFound,
    NotSent,
    Receipt,
    Resend,
    UnreadableResponse,
)
from tests.engine.conftest import wait_for

# A quarantine of 0.4 s.
QUICK = CallPolicy(
    timeout=timedelta(seconds=0.1), listing_delay=timedelta(seconds=0.1), send_within=timedelta(seconds=0.2)
)
PUBLISHED = {"accepted", "lost", "error", "conflict", "garbled", "nonsense", "bug", "hanging", "blank id", "long id"}
RESPONSES: dict[str, Any] = {
    "not sent": NotSent("Nothing left."),
    "lost": LostResponse("No response came."),
    "gone": LostResponse("No response came, and nothing arrived."),
    "garbled": UnreadableResponse("<html>"),
    "bug": KeyError("id"),
    "nonsense": {"ok": True},
    "blank id": Receipt(remote_id=" "),
    "long id": Receipt(remote_id="x" * 501),
    "refused": Failure(FailureKind.PERMANENT, "Too long."),
    "limited": Failure(FailureKind.RATE_LIMIT, "Slow down."),
    "error": Failure(FailureKind.TRANSIENT, "Internal error."),
    "conflict": Failure(FailureKind.DOUBT, "Duplicate."),
}


class FakeNetwork:
    """Gives the arranged responses one after the other, then accepts everything."""

    def __init__(self, *responses: str, lookup_result: LookupResult | Failure | None = None) -> None:
        self.responses = list(responses)
        self.lookup_result = lookup_result  # what a lookup returns; None: the truth
        self.posts: list[str] = []
        self.sends = 0
        self.lookups: list[datetime] = []
        self.intents: list[Intent] = []
        self.reached = asyncio.Event()

    async def post(self, http: Http, text: str) -> Any:
        self.sends += 1
        response = self.responses.pop(0) if self.responses else "accepted"
        if response in PUBLISHED:
            self.posts.append(text)
        self.reached.set()
        if response == "hanging":
            await asyncio.sleep(60)
        result = self.receipt(text) if response == "accepted" else RESPONSES[response]
        if isinstance(result, Exception):
            raise result
        if response == "limited":
            return replace(result, until=datetime.now(UTC) + timedelta(milliseconds=50))
        return result

    async def find(self, http: Http, intent: Intent, text: str) -> LookupResult | Failure:
        self.lookups.append(datetime.now(UTC))
        self.intents.append(intent)
        if self.lookup_result is not None:
            return self.lookup_result
        return Found(self.receipt(text)) if text in self.posts else NotFound()

    def receipt(self, text: str) -> Receipt:
        return Receipt(remote_id=f"id of {text}", url=f"https://there/{text}", data={"times": [1]})


def register_publisher(
    app: Postino, network: FakeNetwork, *, look: bool = True, resend: Resend = NEVER, **options: Any
) -> None:
    """Register a handler `publish` that sends its payload to this network."""
    lookup: Lookup | None = network.find if look else None

    @app.handler("publish", **options)
    async def publish(job: Job, payload: str, call: Call) -> Outcome:
        receipt = await call.with_policy(QUICK).once("post", network.post, payload, found=lookup, resend=resend)
        return Done(None, receipt.remote_id)


async def get_facts(app: Postino, job: Job) -> list[tuple[int, Verdict, ReceiptSource]]:
    return [(entry.number, entry.verdict, entry.source) for entry in (await app.store.ledger(job.id)).receipts]


async def wait_for_person(app: Postino, job: Job) -> Job:
    async def find_uncertain_job() -> Job | None:
        stored = await app.store.job(job.id)
        return stored if stored.state is State.UNCERTAIN and stored.run_at is None else None

    return await wait_for(find_uncertain_job)


async def wait_until_parked(app: Postino, job: Job) -> Job:
    async def waits() -> Job | None:
        stored = await app.store.job(job.id)
        return stored if stored.state is State.PENDING and stored.deferral_reason is not None else None

    return await wait_for(waits)
