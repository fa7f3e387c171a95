"""Posts published by a real worker to a tiny network: tokens that are refused, times that have passed, answers lost."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Done, Job, Postino, State
from postino.publishing.post_request import PostRequest
from postino.rules.settlement import DeadLetterCause
from postino.values.content import Content
from postino.values.gate import Scope
from postino.values.post import AccountState
from postino.values.provider import Failure, FailureKind, NoResponse, Tokens
from tests.contract.databases import SqliteDatabase
from tests.engine.conftest import ended, eventually, working
from tests.engine.network import parked, waiting_for_a_person
from tests.publishing.tiny import AWAY, NEW, OLD, Tiny, connect, publishing


async def write(app: Postino, *parts: str, **said: Any) -> Job:
    first, *rest = parts or ("hello",)
    content = Content(body=first, thread=tuple(rest))
    (written,) = await app.posts.schedule(PostRequest(content=content, accounts=("mastodon:anna",), **said))
    return written.post.job


async def test_a_post_is_published_with_its_address(tmp_path: Path) -> None:
    network = Tiny()
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await ended(app, await write(app))
    assert (job.state, job.remote_id, job.result) == (State.COMPLETED, "id of hello", '{"url": "https://there/hello"}')
    assert (network.posts, job.attempts) == (["hello"], 1)


async def test_a_thread_with_a_lost_answer_is_published_once_in_its_order(tmp_path: Path) -> None:
    network = Tiny("accepted", "lost")
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await ended(app, await write(app, "one", "two", "three"))
    assert (job.state, job.remote_id) == (State.COMPLETED, "id of one")
    assert (network.posts, network.looks) == (["one", "two", "three"], 1)


async def test_a_thread_goes_on_after_a_person_found_its_missing_part(tmp_path: Path) -> None:
    network = Tiny("accepted", "gone")
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await waiting_for_a_person(app, await write(app, "one", "two", "three"))
        await app.resolve(job.id, Done(remote_id="two by hand"), reason="posted it myself")
        assert (await ended(app, job)).state is State.COMPLETED
    assert network.posts == ["one", "three"]


# Tokens


async def test_a_refused_token_is_refreshed_once_within_the_attempt_and_kept(tmp_path: Path) -> None:
    network = Tiny(good="new", refreshes=Tokens(credentials=NEW))
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        first = await ended(app, await write(app, "one"))
        second = await ended(app, await write(app, "two"))
        assert (await app.accounts.open("mastodon:anna")).credentials == NEW
    assert (first.state, first.attempts, second.state) == (State.COMPLETED, 1, State.COMPLETED)
    assert (network.sends, network.refreshed, network.posts) == (["old", "new", "new"], 1, ["one", "two"])


@pytest.mark.parametrize("refreshes", [None, Tokens(credentials={"token": "wrong too"})])
async def test_one_that_stays_refused_holds_the_accounts_posts_until_it_is_connected_again(
    tmp_path: Path, refreshes: Tokens | None
) -> None:
    network = Tiny(good="new", refreshes=refreshes)
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await write(app)
        held = await parked(app, job)
        account = await app.store.account("mastodon:anna")
        assert (held.attempts, held.state, account.state) == (0, State.PENDING, AccountState.TOKEN_EXPIRED)
        sends = len(network.sends)
        other = await write(app, "other")
        await connect(app, NEW)
        assert (await ended(app, job)).state is State.COMPLETED
        assert (await ended(app, other)).state is State.COMPLETED
        assert await app.store.gates() == []
    assert network.posts == ["hello", "other"]
    assert network.sends[sends:] == ["new", "new"], "nothing was tried meanwhile"


@pytest.mark.parametrize("passing", [Failure(FailureKind.TRANSIENT, "Busy."), AWAY, NoResponse("Silence.")])
async def test_a_refresh_that_may_work_later_disconnects_nobody(tmp_path: Path, passing: Failure | Exception) -> None:
    network = Tiny(good="new", refreshes=passing)
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await ended(app, await write(app))
        assert (await app.store.account("mastodon:anna")).state is AccountState.ACTIVE
        letter = await app.store.dead_letter(job.id)
    assert (letter.cause, letter.job.attempts, network.refreshed) == (DeadLetterCause.EXHAUSTED, 3, 3)


async def test_a_token_refused_while_looking_holds_the_doubt_and_the_look_follows_the_reconnect(
    tmp_path: Path,
) -> None:
    network = Tiny("lost")
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await write(app)
        await ended(app, job, State.UNCERTAIN)
        network.good = "new"

        async def is_held() -> bool:
            return (await app.store.account("mastodon:anna")).state is AccountState.TOKEN_EXPIRED

        await eventually(is_held)
        assert (await ended(app, job, State.UNCERTAIN)).run_at is not None, "nobody has to be asked"
        await connect(app, NEW)
        assert (await ended(app, job)).state is State.COMPLETED
    assert (network.posts, network.sends) == (["hello"], ["old"])


async def test_a_persons_own_pause_outlives_a_reconnect(tmp_path: Path) -> None:
    network = Tiny()
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        await app.pause("account", "mastodon:anna", reason="holidays")
        job = await write(app)
        await connect(app, OLD)
        assert [(gate.scope, gate.reason) for gate in await app.store.gates()] == [(Scope.ACCOUNT, "holidays")]
        await app.resume("account", "mastodon:anna")
        assert (await ended(app, job)).state is State.COMPLETED


# What cannot be published


async def test_a_post_whose_time_has_passed_is_not_even_tried(tmp_path: Path) -> None:
    network = Tiny()
    async with publishing(tmp_path, network) as app:
        await connect(app)
        until = datetime.now(UTC) + timedelta(seconds=0.3)
        job = await write(app, publish_until_at=until)

        async def passed() -> bool:
            return datetime.now(UTC) > until

        await eventually(passed)
        async with working(app):
            missed = await ended(app, job)
        assert (missed.state, missed.may_be_live) == (State.FAILED, False)
        assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.MISSED
    assert network.sends == []


async def test_one_that_was_sent_in_time_is_looked_for_after_it(tmp_path: Path) -> None:
    network = Tiny("lost")
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await write(app, publish_until_at=datetime.now(UTC) + timedelta(seconds=0.3))
        await ended(app, job, State.UNCERTAIN)
        done = await ended(app, job)
    assert (done.state, network.posts) == (State.COMPLETED, ["hello"])


async def test_a_post_of_an_account_that_is_gone_fails_and_says_so(tmp_path: Path) -> None:
    async with publishing(tmp_path, Tiny()) as app:
        await connect(app)
        job = await write(app)
        SqliteDatabase(tmp_path / "postino.db").sql("DELETE FROM {accounts}")
        async with working(app):
            assert "There is no account mastodon:anna" in ((await ended(app, job)).last_error or "")


async def test_but_not_if_it_may_be_out_there(tmp_path: Path) -> None:
    network = Tiny("lost")
    async with publishing(tmp_path, network) as app, working(app):
        await connect(app)
        job = await write(app)
        await ended(app, job, State.UNCERTAIN)
        SqliteDatabase(tmp_path / "postino.db").sql("DELETE FROM {accounts}")
        asked = await waiting_for_a_person(app, job)
    assert "There is no account" in (asked.last_error or "")


async def test_a_post_of_the_sandbox_waits_for_a_sandbox(tmp_path: Path) -> None:
    network = Tiny()
    async with publishing(tmp_path, network) as app, working(app):
        await app.accounts.add("mastodon", "anna", OLD, base_url="sandbox:/mastodon")
        job = await ended(app, await write(app))
    assert "belongs to the sandbox, which is not running" in (job.last_error or "")
    assert network.sends == []
