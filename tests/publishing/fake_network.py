"""A fake network, and an app that publishes to it: each part of a post is one visible call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from postino import Postino
from postino.config import PublishingConfig
from postino.publishing.publisher import Publisher
from postino.rules.retry import Schedule
from postino.values.post import POST, StoredAccount
from postino.values.provider import (
    NEVER,
    Account,
    Answer,
    Call,
    Failure,
    FailureKind,
    Found,
    Http,
    Intent,
    LookupResult,
    LostResponse,
    NotFound,
    NotSent,
    Post,
    Promise,
    PromiseClass,
    Published,
    Receipt,
    Tokens,
)
from tests.engine.conftest import make_config

OLD, NEW = {"token": "old"}, {"token": "new"}


class FakeNetwork:
    """Accepts the good token, publishes what it gets, and responds as arranged; afterwards every call succeeds."""

    name = "mastodon"
    promise = Promise(PromiseClass.C, "It shows what is there.")
    timeout = timedelta(seconds=0.1)
    listing_delay = timedelta(seconds=0.1)

    def __init__(self, *answers: str, good: str = "old", refreshes: Tokens | Failure | Exception | None = None) -> None:
        self.answers = list(answers)
        self.good = good
        self.refreshes = refreshes or Failure(FailureKind.AUTH, "Log in again.")
        self.posts: list[str] = []
        self.sends: list[str] = []  # the tokens they came with
        self.looks = 0
        self.refreshed = 0

    async def publish(self, post: Post, call: Call) -> Published:
        await call.step("limits", self.limits)
        first: Receipt | None = None
        for number, text in enumerate(post.parts, 1):
            receipt = await call.once(f"part {number}", self.post, post.account, text, found=self.find, resend=NEVER)
            first = first or receipt
        assert first is not None
        return Published(first.remote_id, first.url)

    async def limits(self, http: Http) -> int:
        return 500

    async def post(self, http: Http, account: Account, text: str) -> Receipt | Failure:
        token = account.credentials["token"]
        self.sends.append(token)
        if token != self.good:
            return Failure(FailureKind.AUTH, "The token is refused.")
        answer = self.answers.pop(0) if self.answers else "accepted"
        if answer == "suspended":
            return Failure(FailureKind.SUSPENDED, "The account is suspended.")
        if answer != "gone":
            self.posts.append(text)
        if answer != "accepted":
            raise LostResponse("No answer came.")
        return Receipt(remote_id=f"id of {text}", url=f"https://there/{text}")

    async def find(self, http: Http, intent: Intent, account: Account, text: str) -> LookupResult | Failure:
        self.looks += 1
        if account.credentials["token"] != self.good:
            return Failure(FailureKind.AUTH, "The token is refused.")
        return Found(Receipt(remote_id=f"id of {text}")) if text in self.posts else NotFound()

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        self.refreshed += 1
        if isinstance(self.refreshes, Exception):
            raise self.refreshes
        return self.refreshes

    def classify(self, answer: Answer) -> Failure:
        return Failure(FailureKind.PERMANENT, "no")


class FakeChats(FakeNetwork):
    """A network without a lookup, where each chat numbers its messages from 1. The token of an account is its chat."""

    def __init__(self, *answers: str) -> None:
        super().__init__(*answers)
        self.chats: dict[str, list[str]] = {}

    def get_id_scope(self, account: Account) -> str:
        return account.credentials["token"]

    async def publish(self, post: Post, call: Call) -> Published:
        receipt = await call.once("part 1", self.post, post.account, post.parts[0], found=None, resend=NEVER)
        return Published(receipt.remote_id, receipt.url)

    async def post(self, http: Http, account: Account, text: str) -> Receipt | Failure:
        chat = self.chats.setdefault(account.credentials["token"], [])
        chat.append(text)
        if self.answers and self.answers.pop(0) == "lost":
            raise LostResponse("No answer came.")
        return Receipt(remote_id=str(len(chat)))


AWAY = NotSent("Nothing was sent.")


@asynccontextmanager
async def open_app(folder: Path, network: Any, url: str | None = None) -> AsyncIterator[Postino]:
    """Yield an app that publishes to this network, with three attempts and no backoff."""
    config = make_config(folder, url or f"sqlite:///{folder}/postino.db")
    app = Postino(replace(config, publishing=PublishingConfig(send_within=0.2)))
    publisher = Publisher(app.accounts, {network.name: network}, timeout_factor=1.0, send_within=0.2)
    del app.handlers[POST]
    app.handler(POST, max_attempts=3, backoff=Schedule([0.0]), time_limit=5.0)(publisher.publish)
    async with app:
        yield app


async def connect(app: Postino, credentials: dict[str, str] | None = None) -> StoredAccount:
    return await app.accounts.add("mastodon", "anna", credentials or OLD, base_url="https://there")
