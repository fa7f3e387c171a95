"""Seed data for the fuzzer: things in every state, for two brands.

Responses to the key of one brand must never contain the mark of the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.api.processes import Client, eventually
from tests.fuzz.fake_worker import STAYS, work
from tests.fuzz.target import Target

LATER = "2031-05-06T07:08:09Z"
OURS, THEIRS = "acme", "rosso"
MARK = "only-rosso-says-this"
PASSWORD = "a long enough secret"
CAUSES = ("exhausted", "permanent", "missed", "poison", "worker_killer")
OF_POSTS = ("works", "tries again", "exhausted", "permanent", "missed", "uncertain")
LOST = {"bluesky": "putRecord", "mastodon": "statuses", "telegram": "sendMessage"}
STOCK = 12  # of each kind: asking uses them up
CSV = "accounts,text,at,timezone\n{},From a file,2031-05-06T07:08,Europe/Rome\n"


@dataclass
class Stock:
    """The ids of a brand, by kind."""

    brand: str
    accounts: dict[str, str] = field(default_factory=dict)
    posts: dict[str, list[str]] = field(default_factory=dict)
    jobs: dict[str, list[str]] = field(default_factory=dict)
    contents: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def job_ids(self) -> list[str]:
        return [one for kind in (*self.jobs.values(), *self.posts.values()) for one in kind[:3]]

    def post_ids(self) -> list[str]:
        return [one for kind in self.posts.values() for one in kind[:3]]


@dataclass
class SeedData:
    own_stock: Stock
    other_stock: Stock
    restricted: Client
    keys: list[str]
    users: list[str]
    blackouts: list[str]
    faults: list[int]


def create_seed_data(target: Target) -> SeedData:
    stocks = [Stock(brand) for brand in (OURS, THEIRS)]
    endings: dict[str, str] = {}
    for stock in stocks:
        open_accounts(target, stock)
    with target.worker():
        for stock in stocks:
            publish(target, stock)
    for stock in stocks:
        endings |= queue(target, stock)
    asyncio.run(work(target, endings))
    for stock in stocks:
        plan(target, stock)
        leave_accounts(target, stock)
    own_stock, other_stock = stocks
    return SeedData(own_stock, other_stock, *create_shared_data(target))


def open_accounts(target: Target, stock: Stock) -> None:
    """Open an account on each network, some to be paused, and one with an expired token."""
    for name, network in (
        ("bluesky", "bluesky"), ("mastodon", "mastodon"), ("telegram", "telegram"), ("paused", "mastodon"),
        ("expired", "mastodon"), ("spare", "mastodon"), ("other", "mastodon"),
    ):  # fmt: skip
        opened = target.sandbox.ask("POST", "/_sandbox/accounts", {"network": network}).json
        body = {
            "network": network, "handle": opened["handle"], "credentials": opened["credentials"],
            "base_url": f"sandbox:/{network}", "brand": stock.brand, "remote_id": opened["remote_id"],
        }  # fmt: skip
        stock.accounts[name] = create(target, "/v1/accounts", body)["id"]


def publish(target: Target, stock: Stock) -> None:
    """Publish some posts, and some whose responses are lost."""
    texts = [target.post(f"Out {number} {mark(stock)}", stock.accounts["bluesky"])["id"] for number in range(4)]
    stock.posts["published"] = [target.wait_for_status(one)["id"] for one in texts]
    stock.posts["lost"] = []
    for network, endpoint in LOST.items():
        target.fault(network, "process_then_drop", times=1, endpoint=endpoint)
        post = target.post(f"Perhaps on {network} {mark(stock)}", stock.accounts[network])["id"]
        stock.posts["lost"].append(post)
        eventually(uncertain(target, post), lambda post=post: target.api.get(f"/v1/posts/{post}"))  # type: ignore[misc]


def uncertain(target: Target, post: str) -> Callable[[], bool]:
    return lambda: bool(target.api.get(f"/v1/posts/{post}")["status"] == "uncertain")


def queue(target: Target, stock: Stock) -> dict[str, str]:
    """Enqueue due jobs; return how each shall end."""
    endings: dict[str, str] = {}
    for word in (*CAUSES, "works", "tries again", "uncertain", STAYS):
        count = 2 if word == STAYS else STOCK
        bodies = [{"type": "report", "payload": {"it": word}, "brand": stock.brand} for _ in range(count)]
        stock.jobs[word] = [create(target, "/v1/jobs", body)["id"] for body in bodies]
        endings |= dict.fromkeys(stock.jobs[word], word)
    for word in OF_POSTS:
        texts = [f"It {word}, {number} {mark(stock)}" for number in range(STOCK if word != "works" else 2)]
        made_now = [target.post(text, stock.accounts["other"]) for text in texts]
        stock.posts[word] = [one["id"] for one in made_now]
        stock.contents += [one["content_id"] for one in made_now[:2]]
        endings |= dict.fromkeys(stock.posts[word], word)
    return endings


def plan(target: Target, stock: Stock) -> None:
    """Create scheduled posts, drafts and cancelled posts."""
    who = [stock.accounts[name] for name in ("bluesky", "mastodon")]
    for kind in ("scheduled", "cancelled"):
        texts = [f"{kind} {number} {mark(stock)}" for number in range(STOCK)]
        stock.posts[kind] = [target.post(text, who[0], at=LATER)["id"] for text in texts]
    for post in stock.posts["cancelled"][:3]:
        assert target.api.ask("POST", f"/v1/posts/{post}/cancel", {"reason": "Not that."}).status == 200
    ahead = {"type": "report", "payload": {"n": [1, None, "x"]}, "run_at": LATER, "brand": stock.brand}
    stock.jobs["pending"] = [create(target, "/v1/jobs", ahead)["id"] for _ in range(STOCK)]
    for number in range(STOCK):
        body = {"text": f"Thought {number} {mark(stock)}", "accounts": who, "title": None, "hashtags": ["one"]}
        more = {"overrides": {"mastodon": {"text": "Otherwise", "options": {}}}, "at": LATER}
        stock.drafts.append(create(target, "/v1/drafts", body | more)["id"])
    for name in (who[0], "nobody:here"):
        reply = target.api.ask("POST", "/v1/imports", CSV.format(name).encode())
        assert reply.status == 200, reply
        stock.imports.append(reply.json["id"])
        stock.tokens.append(reply.json["token"])


def leave_accounts(target: Target, stock: Stock) -> None:
    paused = target.api.ask("POST", f"/v1/accounts/{stock.accounts['paused']}/pause", {"reason": mark(stock)})
    assert paused.status == 200, paused
    handle = stock.accounts["expired"].partition(":")[2]
    target.sandbox.ask("POST", f"/_sandbox/accounts/mastodon/{handle}", {"blocked": False, "token_expired": True})
    checked = target.api.ask("POST", f"/v1/accounts/{stock.accounts['expired']}/check")
    assert checked.json["account"]["state"] == "token_expired", checked


def create_shared_data(target: Target) -> tuple[Client, list[str], list[str], list[str], list[int]]:
    """Create API keys, users, blackouts, circuits and faults."""
    of_editor = create(
        target, "/v1/api-keys", {"name": "an editor's", "role": "editor", "brands": [OURS], "job_types": ["*"]}
    )
    keys = [create(target, "/v1/api-keys", {"name": f"spare {it}", "role": "viewer"})["id"] for it in range(4)]
    users = [
        create(target, "/v1/users", {"name": f"user-{it}", "password": PASSWORD, "role": "editor"})["id"]
        for it in range(4)
    ]
    windows: list[dict[str, Any]] = [
        {"scope": "brand", "brand": THEIRS, "start": "01:00", "end": "02:00"},
        {"scope": "channel", "channel": "youtube", "start": "03:00", "end": "04:00", "days": [1, 2]},
        {"scope": "account", "account": "telegram:postcard", "start": "23:00", "end": "01:00", "reason": MARK},
    ]
    blackouts = [create(target, "/v1/blackouts", {"timezone": "Europe/Rome"} | window)["id"] for window in windows]
    for service in ("youtube", "tiktok"):
        reply = target.api.ask("POST", f"/v1/circuits/{service}/open", {"reason": "It is away."})
        assert reply.status == 200, reply
    fault = {"network": "youtube", "fault": "drop", "times": 1}
    faults = [create(target, "/v1/sandbox/faults", fault)["id"] for _ in range(4)]
    client = Client(target.ready["url"], {"Authorization": f"Bearer {of_editor['key']}"})
    return client, keys, users, blackouts, faults


def mark(stock: Stock) -> str:
    return MARK if stock.brand == THEIRS else str(uuid4())


def create(target: Target, path: str, body: dict[str, Any]) -> Any:
    reply = target.api.ask("POST", path, body)
    assert reply.status in (200, 201), reply
    return reply.json
