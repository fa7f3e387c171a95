"""A `Call` with its ledger in memory: stores steps as JSON, and looks up a lost response before it resends."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from postino.outbound.http import OutboundHttp
from postino.rules.failures import is_definite_refusal
from postino.values.provider import (
    Account,
    Action,
    CannotTell,
    Failure,
    Found,
    Intent,
    Lookup,
    LookupResult,
    LostResponse,
    NotFound,
    NotSent,
    Post,
    Provider,
    Published,
    Receipt,
    Resend,
)

POLL = 0.05  # seconds between two questions, however long anybody else would wait


class StepRefused(Exception):
    """The network refused the call."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class StepUncertain(Exception):
    """A request may have been sent."""


class PersonNeeded(Exception):
    """Only a person can decide."""


@dataclass
class MemoryCall:
    outbound: OutboundHttp
    provider: Provider
    account: Account
    steps: dict[str, str] = field(default_factory=dict)
    intents: dict[str, Intent] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    lookup_results: list[LookupResult | Failure] = field(default_factory=list)
    sent: int = 0

    def open(self, *, visible: bool) -> Any:
        secrets = list(self.account.credentials.values())
        return self.outbound.open(timeout=self.provider.timeout, visible=visible, secrets=secrets)

    async def step(self, name: str, act: Action, *arguments: Any) -> Any:
        if name not in self.steps:
            result = await act(self.open(visible=False), *arguments)
            if isinstance(result, Failure):
                raise StepRefused(result)
            self.steps[name] = json.dumps(result)
        return json.loads(self.steps[name])

    async def until(self, name: str, ready: Action, *arguments: Any, every: timedelta, patience: timedelta) -> Any:
        assert timedelta() < every < patience
        while name not in self.steps:
            result = await ready(self.open(visible=False), *arguments)
            if isinstance(result, Failure):
                raise StepRefused(result)
            if result is None:
                await asyncio.sleep(POLL)
            else:
                self.steps[name] = json.dumps(result)
        return json.loads(self.steps[name])

    async def once(
        self,
        name: str,
        act: Action,
        *arguments: Any,
        found: Lookup | None,
        resend: Resend,
        prepare: Action | None = None,
    ) -> Receipt:
        if name in self.receipts:
            return self.receipts[name]
        if intent := self.intents.get(name):
            receipt = await self._look(intent, found, resend, *arguments)
            if receipt is not None:
                self.receipts[name] = receipt
                return receipt
        if prepare is not None:
            prepared = await prepare(self.open(visible=False), *arguments)
            if isinstance(prepared, Failure):
                raise StepRefused(prepared)
            arguments = (prepared, *arguments)
        return await self._send(name, act, *arguments)

    async def list_taken_ids(self, remote_ids: list[str]) -> set[str]:
        return self.others.intersection(remote_ids)

    async def _look(self, intent: Intent, found: Lookup | None, resend: Resend, *arguments: Any) -> Receipt | None:
        if found is None:
            raise PersonNeeded("nobody can look")
        lookup_result = await found(self.open(visible=False), intent, *arguments)
        self.lookup_results.append(lookup_result)
        match lookup_result:
            case Found(receipt):
                return receipt
            case Failure():
                raise StepRefused(lookup_result)
            case CannotTell(why):
                raise PersonNeeded(why)
            case NotFound():
                over = resend.within is not None and datetime.now(UTC) > intent.intended_at + resend.within
                if over or not resend.harmless:
                    raise PersonNeeded(resend.reason)
        return None

    async def _send(self, name: str, act: Action, *arguments: Any) -> Receipt:
        before = self.intents.get(name)
        now = datetime.now(UTC)
        number = before.number + 1 if before else 1
        self.intents.setdefault(name, Intent(number=number, intended_at=now, send_before_at=now + timedelta(seconds=5)))
        self.sent += 1
        try:
            result = await act(self.open(visible=True), *arguments)
        except NotSent:
            if before is None:
                del self.intents[name]
            raise
        except LostResponse as lost:
            raise StepUncertain(str(lost)) from lost
        if isinstance(result, Receipt):
            self.receipts[name] = result
            return result
        assert isinstance(result, Failure)
        if not is_definite_refusal(result):
            raise StepUncertain(result.message)
        if before is None:
            del self.intents[name]
        raise StepRefused(result)


async def publish_until_done(provider: Provider, post: Post, call: MemoryCall, attempts: int = 5) -> Published:
    """Publish with retries, as the engine would, without waiting."""
    for left in reversed(range(attempts)):
        try:
            return await provider.publish(post, call)
        except (StepUncertain, NotSent, LostResponse):
            if not left:
                raise
    raise AssertionError
