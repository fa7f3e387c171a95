"""Similar posts: an older, foreign or intended duplicate is never taken for the post in doubt."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from postino import Postino, State
from postino.publishing.vault_keys import list_bound_values
from postino.values.post import StoredAccount
from postino.values.provider import PromiseClass
from postino.vault.vault import make_vault
from tests.crash.publishing.faults import INVISIBLE_SECONDS, LOST_RESPONSE, Fault
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.oracle import LivePost, Oracle
from tests.crash.publishing.post_shapes import NETWORKS, get_shape
from tests.crash.publishing.verdict import judge

A_DAY = 86_400
INVISIBLE_FOR_SECONDS = "it is invisible for seconds"
FAULT_CASES = {
    "the response is lost": ({"name": LOST_RESPONSE},),
    "nothing arrives": ({"name": "drop"},),
    INVISIBLE_FOR_SECONDS: ({"name": "invisible", "params": {"seconds": INVISIBLE_SECONDS}}, {"name": LOST_RESPONSE}),
}


def faults(network: str, fault_case: str) -> list[Fault]:
    return [Fault(get_shape(network).visible, **params) for params in FAULT_CASES[fault_case]]


def publish_by_hand(app: Postino, oracle: Oracle, account: StoredAccount, text: str) -> LivePost:
    """Publish a post by hand, with the app of the network."""
    body: dict[str, Any]
    known = make_vault(app.vault_keys.source.read()).open(account.sealed, account.id, list_bound_values(account))
    before = len(oracle.list_live_posts())
    match account.network:
        case "mastodon":
            call(oracle, "mastodon/api/v1/statuses", {"status": text}, known["access_token"])
        case "telegram":
            body = {"chat_id": known["chat_id"], "text": text}
            call(oracle, f"telegram/bot{known['bot_token']}/sendMessage", body)
        case "bluesky":
            session = call(oracle, "bluesky/xrpc/com.atproto.server.createSession", known)
            record = {"$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-01-01T00:00:00Z"}
            body = {"repo": session["did"], "collection": "app.bsky.feed.post", "record": record}
            call(oracle, "bluesky/xrpc/com.atproto.repo.createRecord", body, session["accessJwt"])
    [live_post] = oracle.list_live_posts()[before:]
    return live_post


def call(oracle: Oracle, path: str, body: Any, token: str = "") -> dict[str, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(f"{oracle.url}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as response:
        result: dict[str, Any] = json.load(response)
    return result


def make_it_yesterday(oracle: Oracle) -> None:
    """Make all posts on the networks a day older."""
    connection = apsw.Connection(str(oracle.folder / "sandbox.db"))
    connection.set_busy_timeout(10_000)
    connection.execute("UPDATE things SET kept_at = kept_at - ?1, visible_at = visible_at - ?1", (A_DAY,))
    connection.close()


def list_cases() -> Iterator[tuple[str, str]]:
    """Yield networks and their fault cases. Networks without a lookup have no invisible posts."""
    for network in NETWORKS:
        has_lookup = get_shape(network).grade is not PromiseClass.D
        yield from (
            (network, fault_case) for fault_case in FAULT_CASES if has_lookup or fault_case != INVISIBLE_FOR_SECONDS
        )


@pytest.mark.crash
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_lookup_ignores_old_posts_and_posts_of_other_accounts(
    harness: PublishingHarness,
) -> None:
    yesterday: list[LivePost] = []
    wanted = []
    for network, fault_case in list_cases():
        account, text = await harness.open_account(network), f"Every day: {fault_case}"
        yesterday.append(await asyncio.to_thread(publish_by_hand, harness.app, harness.oracle, account, text))
        wanted += [
            (network, fault_case, account, text),
            (network, fault_case, await harness.open_account(network), text),
        ]
    await asyncio.to_thread(make_it_yesterday, harness.oracle)
    for network, fault_case, account, text in wanted:
        await harness.post(get_shape(network), fault_case, *faults(network, fault_case), account=account, text=text)
    await harness.settle_all()
    verdict = await judge(harness, by_hand=yesterday)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    jobs = [(posted, await harness.app.store.job(posted.id)) for posted in harness.posts]
    taken = {(job.channel, posted.account.handle, job.remote_id) for posted, job in jobs}
    assert taken.isdisjoint((post.network, post.account, post.remote_id) for post in yesterday)


@pytest.mark.crash
async def test_recent_equal_post_of_an_account_keeps_its_remote_id(harness: PublishingHarness) -> None:
    firsts = [
        (await harness.post(get_shape(network), "the first", text=f"Once more: {fault_case}"), fault_case)
        for network, fault_case in list_cases()
    ]
    await harness.settle_all()
    for first, fault_case in firsts:
        options: dict[str, Any] = {"account": first.account, "text": first.parts[0], "allow_duplicate": True}
        await harness.post(first.shape, fault_case, *faults(first.shape.network, fault_case), **options)
    await harness.settle_all()
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})


@pytest.mark.crash
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_equal_posts_of_an_account_are_never_in_doubt_together(harness: PublishingHarness) -> None:
    """Equal posts look the same on the network: the second waits until the first request cannot arrive any more."""
    for network in ("bluesky", "mastodon"):
        account = await harness.open_account(network)
        for _ in range(2):
            lost = Fault(get_shape(network).visible, LOST_RESPONSE)
            options: dict[str, Any] = {"account": account, "text": "The very same", "allow_duplicate": True}
            await harness.post(get_shape(network), "one of two", lost, **options)
    await harness.settle_all(attempts=3)
    verdict = await judge(harness)
    assert (verdict.violations, verdict.left_to_person) == ([], {})
    ends = [(await harness.app.store.job(posted.id)).state for posted in harness.posts]
    assert ends == [State.COMPLETED] * 4
