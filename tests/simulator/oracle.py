"""What people were promised, and what the networks' own record says of it. It knows nothing of Postino's database."""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from postino.testing.simulation.sandbox_networks import PublishedPost

MARK = re.compile(r"post (\d+)")
TOLERANCE = timedelta(milliseconds=1)


@dataclass(slots=True)
class Promise:
    """One accepted post: how often it may be live, from when on, and with which texts."""

    job: UUID
    number: int
    account: str
    texts: set[str]
    due_at: datetime
    allowed: int = 1
    moved: bool = False  # a person has given it another time
    cancelled: bool = False  # a person got the answer that the post is cancelled
    is_relaxed: bool = False  # a backup was put back, which may have lost edits and cancels
    declared_live: bool = False  # a person said that it is live, although it is not


@dataclass(slots=True)
class Oracle:
    """Compares what is published with what was promised."""

    promises: dict[UUID, Promise] = field(default_factory=dict)
    published: list[PublishedPost] = field(default_factory=list)
    held: dict[tuple[str, str], datetime] = field(default_factory=dict)  # pauses, since the person got the answer
    unanswered: set[int] = field(default_factory=set)  # requests whose response never came
    places: dict[str, str] = field(default_factory=dict)  # accounts on the networks that are not called as in Postino
    wrong: list[str] = field(default_factory=list)

    def note_published(self, post: PublishedPost) -> None:
        """Judge a post at the moment when people can see it."""
        self.published.append(post)
        number, account = read_number(post.text), self.find_account(post)
        promises = self.find_promises(number, account)
        if not promises and number in self.unanswered:
            if self.count_live(number, account) > 1:
                self.wrong.append(f"twice: {describe(post)} is live twice")
            return
        if not promises:
            self.wrong.append(f"unknown: {describe(post)} was published, and nobody asked for it")
            return
        live, allowed = self.count_live(number, account), sum(it.allowed for it in promises)
        if live > allowed:
            self.wrong.append(f"twice: {describe(post)} is live {live} times instead of {allowed}")
        may_be_early = any(it.is_relaxed and it.moved for it in promises)
        if not may_be_early and not any(it.due_at <= post.published_at + TOLERANCE for it in promises):
            self.wrong.append(f"early: {describe(post)} is due at {promises[0].due_at:%H:%M:%S.%f}")
        if not any(it.is_relaxed or post.text in map(remove_controls, it.texts) for it in promises):
            self.wrong.append(f"other text: {describe(post)} has the text {post.text!r}")
        if all(it.cancelled and not it.is_relaxed for it in promises):
            self.wrong.append(f"cancelled: {describe(post)} was published after it was cancelled")

    def find_promises(self, number: int, account: str) -> list[Promise]:
        return [it for it in self.promises.values() if (it.number, it.account) == (number, account)]

    def find_live(self, number: int, account: str) -> list[PublishedPost]:
        """Return what is live of a request on an account."""
        return [it for it in self.published if read_number(it.text) == number and self.find_account(it) == account]

    def find_account(self, post: PublishedPost) -> str:
        """Return the account as Postino calls it."""
        return self.find_name(post.network, post.account)

    def find_name(self, network: str, handle: str) -> str:
        """Return what Postino calls an account of a network."""
        place = f"{network}:{handle}"
        return self.places.get(place, place)

    def count_live(self, number: int, account: str) -> int:
        return len(self.find_live(number, account))

    def list_live(self, promise: Promise) -> list[PublishedPost]:
        return self.find_live(promise.number, promise.account)


def read_number(text: str) -> int:
    match = MARK.search(text)
    return int(match[1]) if match else -1


def remove_controls(text: str) -> str:
    """Return a text as networks get it: without invisible control characters."""
    return "".join(it for it in text if it in "\n\t" or unicodedata.category(it) != "Cc")


def describe(post: PublishedPost) -> str:
    return f"post {read_number(post.text)} on {post.network}:{post.account}"
