"""Similar posts: an older, foreign or intended duplicate is never taken for the post in doubt."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from postino import Postino, State
from postino.values.post import StoredAccount
from postino.values.provider import PromiseClass
from tests.crash.publishing.faults import LOST_ANSWER, UNSEEN, Fault
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import Oracle, Seen
from tests.crash.publishing.post_shapes import NETWORKS, shape_for
from tests.crash.publishing.verdict import judge

A_DAY = 86_400
UNSEEN_FOR_SECONDS = "it cannot be seen for seconds"
TROUBLES = {
    "the answer is lost": ({"name": LOST_ANSWER},),
    "nothing arrives": ({"name": "drop"},),
    UNSEEN_FOR_SECONDS: ({"name": "invisible", "params": {"seconds": UNSEEN}}, {"name": LOST_ANSWER}),
}


def faults(network: str, trouble: str) -> list[Fault]:
    return [Fault(shape_for(network).visible, **told) for told in TROUBLES[trouble]]


def say_by_hand(app: Postino, oracle: Oracle, account: StoredAccount, text: str) -> Seen:
    """As a person would, with the network's own app."""
    told: dict[str, Any]
    known = app.accounts.vault.open(account.sealed, account.id)
    before = len(oracle.record())
    match account.network:
        case "mastodon":
            call(oracle, "mastodon/api/v1/statuses", {"status": text}, known["access_token"])
        case "telegram":
            told = {"chat_id": known["chat_id"], "text": text}
            call(oracle, f"telegram/bot{known['bot_token']}/sendMessage", told)
        case "bluesky":
            session = call(oracle, "bluesky/xrpc/com.atproto.server.createSession", known)
            record = {"$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-01-01T00:00:00Z"}
            told = {"repo": session["did"], "collection": "app.bsky.feed.post", "record": record}
            call(oracle, "bluesky/xrpc/com.atproto.repo.createRecord", told, session["accessJwt"])
    [seen] = oracle.record()[before:]
    return seen


def call(oracle: Oracle, path: str, told: Any, token: str = "") -> dict[str, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    asked = urllib.request.Request(f"{oracle.url}/{path}", json.dumps(told).encode(), headers)
    with urllib.request.urlopen(asked, timeout=20) as answer:
        said: dict[str, Any] = json.load(answer)
    return said


def make_it_yesterday(oracle: Oracle) -> None:
    """All that the networks have by now is a day old."""
    connection = apsw.Connection(str(oracle.folder / "sandbox.db"))
    connection.set_busy_timeout(10_000)
    connection.execute("UPDATE things SET kept_at = kept_at - ?1, visible_at = visible_at - ?1", (A_DAY,))
    connection.close()


def tried_on() -> Iterator[tuple[str, str]]:
    """Networks, and what goes wrong there. Where posts cannot be looked for, nothing can be seen too late."""
    for network in NETWORKS:
        seen = shape_for(network).grade is not PromiseClass.D
        yield from ((network, trouble) for trouble in TROUBLES if seen or trouble != UNSEEN_FOR_SECONDS)


@pytest.mark.crash
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_lookup_ignores_old_posts_and_posts_of_other_accounts(
    harness: PublishingHarness,
) -> None:
    yesterday: list[Seen] = []
    wanted = []
    for network, trouble in tried_on():
        account, text = await harness.open_account(network), f"Every day: {trouble}"
        yesterday.append(await asyncio.to_thread(say_by_hand, harness.app, harness.oracle, account, text))
        wanted += [(network, trouble, account, text), (network, trouble, await harness.open_account(network), text)]
    await asyncio.to_thread(make_it_yesterday, harness.oracle)
    for network, trouble, account, text in wanted:
        await harness.post(shape_for(network), trouble, *faults(network, trouble), account=account, text=text)
    await harness.settle_all()
    verdict = await judge(harness, by_hand=yesterday)
    assert (verdict.violations, verdict.asked) == ([], {})
    jobs = [(posted, await harness.app.store.job(posted.id)) for posted in harness.posts]
    taken = {(job.channel, posted.account.handle, job.remote_id) for posted, job in jobs}
    assert taken.isdisjoint((seen.network, seen.account, seen.remote_id) for seen in yesterday)


@pytest.mark.crash
async def test_recent_equal_post_of_an_account_keeps_its_remote_id(harness: PublishingHarness) -> None:
    firsts = [
        (await harness.post(shape_for(network), "the first", text=f"Once more: {trouble}"), trouble)
        for network, trouble in tried_on()
    ]
    await harness.settle_all()
    for first, trouble in firsts:
        said: dict[str, Any] = {"account": first.account, "text": first.parts[0], "allow_duplicate": True}
        await harness.post(first.shape, trouble, *faults(first.shape.network, trouble), **said)
    await harness.settle_all()
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})


@pytest.mark.crash
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_equal_posts_of_an_account_are_never_in_doubt_together(harness: PublishingHarness) -> None:
    """By likeness nobody could say which is which: the second waits until the first cannot be under way any more."""
    for network in ("bluesky", "mastodon"):
        account = await harness.open_account(network)
        for _ in range(2):
            lost = Fault(shape_for(network).visible, LOST_ANSWER)
            said: dict[str, Any] = {"account": account, "text": "The very same", "allow_duplicate": True}
            await harness.post(shape_for(network), "one of two", lost, **said)
    await harness.settle_all(attempts=3)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.asked) == ([], {})
    ends = [(await harness.app.store.job(posted.id)).state for posted in harness.posts]
    assert ends == [State.COMPLETED] * 4
