"""A worker publishes to a fake network: refused tokens, missed times, lost responses."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Done, Job, Postino, State
from postino.publishing.post_request import PostRequest
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import AuditContext
from postino.values.content import Content
from postino.values.gate import Scope
from postino.values.post import AccountState, StoredAccount
from postino.values.provider import Account, Failure, FailureKind, Http, LostResponse, Tokens
from tests.contract.databases import SqliteDatabase
from tests.engine.conftest import run_worker, wait_for, wait_for_end
from tests.engine.fake_network import wait_for_person, wait_until_parked
from tests.publishing.fake_network import AWAY, NEW, OLD, FakeChats, FakeNetwork, connect, open_app


async def create_post(app: Postino, *parts: str, **options: Any) -> Job:
    first, *rest = parts or ("hello",)
    content = Content(body=first, thread=tuple(rest))
    (written,) = await app.posts.schedule(PostRequest(content=content, accounts=("mastodon:anna",), **options))
    return written.post.job


async def test_published_post_has_remote_id_and_url(tmp_path: Path) -> None:
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await wait_for_end(app, await create_post(app))
    assert (job.state, job.remote_id, job.result) == (State.COMPLETED, "id of hello", '{"url": "https://there/hello"}')
    assert (network.posts, job.attempts) == (["hello"], 1)


async def test_posts_that_fail_without_a_call_do_not_open_the_circuit(tmp_path: Path) -> None:
    """One account with a wrong address must not close the network for all others."""
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app, run_worker(app):
        await app.accounts.add("mastodon", "anna", OLD, base_url="sandbox:/mastodon")  # no sandbox runs
        for text in ("one", "two"):
            assert (await wait_for_end(app, await create_post(app, text))).state is State.FAILED
        assert await app.store.circuits() == []
    assert network.sends == []


async def test_thread_with_a_lost_response_is_published_once_in_order(tmp_path: Path) -> None:
    network = FakeNetwork("accepted", "lost")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await wait_for_end(app, await create_post(app, "one", "two", "three"))
    assert (job.state, job.remote_id) == (State.COMPLETED, "id of one")
    assert (network.posts, network.looks) == (["one", "two", "three"], 1)


async def test_thread_continues_after_a_person_resolves_a_part(tmp_path: Path) -> None:
    network = FakeNetwork("accepted", "gone")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await wait_for_person(app, await create_post(app, "one", "two", "three"))
        await app.resolve(job.id, Done(remote_id="two by hand"), reason="posted it myself")
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert network.posts == ["one", "three"]


async def test_account_reconnected_to_another_chat_publishes_there(tmp_path: Path) -> None:
    """The new chat numbers its messages from 1 again. A doubt from the old chat keeps the old chat's number."""
    network = FakeChats("accepted", "lost")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app, OLD)
        published = [await wait_for_end(app, await create_post(app, "one"))]
        doubt = await wait_for_person(app, await create_post(app, "two"))
        await connect(app, NEW)
        published += [await wait_for_end(app, await create_post(app, text)) for text in ("three", "four")]
        await app.resolve(doubt.id, Done(remote_id="2"), reason="it is message 2 of the old chat")
        assert (await wait_for_end(app, doubt)).remote_id == "2"
        third = await wait_for_end(app, await create_post(app, "five"))
    assert [(job.state, job.remote_id) for job in published] == [(State.COMPLETED, it) for it in ("1", "1", "2")]
    assert (third.state, third.remote_id) == (State.COMPLETED, "3")
    assert network.chats == {"old": ["one", "two"], "new": ["three", "four", "five"]}


# Tokens


@pytest.mark.parametrize("address", ["https://thief.example", "", "http://[", "sandbox:/bluesky"])
async def test_post_of_an_account_with_a_changed_server_is_held_and_never_sent(tmp_path: Path, address: str) -> None:
    """Posts of other accounts go out meanwhile, from the same worker."""
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        other = await app.accounts.add("mastodon", "other", OLD, base_url="https://there")
        SqliteDatabase(tmp_path / "postino.db").sql(
            f"UPDATE {{accounts}} SET base_url = '{address}' WHERE id = 'mastodon:anna'"
        )
        job = await create_post(app, "one")

        async def is_held() -> bool:
            account = await app.store.account("mastodon:anna")
            return account.state is AccountState.LOCKED and (await app.store.job(job.id)).state is State.PENDING

        await wait_for(is_held)
        held = await app.store.job(job.id)
        [written] = await app.posts.schedule(PostRequest(content=Content(body="two"), accounts=(other.id,)))
        published = await wait_for_end(app, written.post.job)
    assert (published.state, network.posts, network.refreshed) == (State.COMPLETED, ["two"], 0)
    assert (held.attempts, held.may_be_live) == (0, False)


async def test_refused_token_is_refreshed_once_and_stored(tmp_path: Path) -> None:
    network = FakeNetwork(good="new", refreshes=Tokens(credentials=NEW))
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        first = await wait_for_end(app, await create_post(app, "one"))
        second = await wait_for_end(app, await create_post(app, "two"))
        assert (await app.accounts.open("mastodon:anna")).credentials == NEW
    assert (first.state, first.attempts, second.state) == (State.COMPLETED, 1, State.COMPLETED)
    assert (network.sends, network.refreshed, network.posts) == (["old", "new", "new"], 1, ["one", "two"])


@pytest.mark.parametrize("refreshes", [None, Tokens(credentials={"token": "wrong too"})])
async def test_refused_credentials_hold_posts_until_the_account_is_reconnected(
    tmp_path: Path, refreshes: Tokens | None
) -> None:
    network = FakeNetwork(good="new", refreshes=refreshes)
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app)
        held = await wait_until_parked(app, job)
        account = await app.store.account("mastodon:anna")
        assert (held.attempts, held.state, account.state) == (0, State.PENDING, AccountState.TOKEN_EXPIRED)
        sends = len(network.sends)
        other = await create_post(app, "other")
        await connect(app, NEW)
        assert (await wait_for_end(app, job)).state is State.COMPLETED
        assert (await wait_for_end(app, other)).state is State.COMPLETED
        assert await app.store.gates() == []
    assert network.posts == ["hello", "other"]
    assert network.sends[sends:] == ["new", "new"], "nothing was tried meanwhile"


async def test_suspended_account_holds_its_posts_until_it_is_resumed(tmp_path: Path) -> None:
    network = FakeNetwork("suspended")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app)
        held = await wait_until_parked(app, job)
        account = await app.store.account("mastodon:anna")
        assert (held.attempts, held.state, account.state) == (0, State.PENDING, AccountState.SUSPENDED)
        assert network.refreshed == 0
        await app.accounts.resume("mastodon:anna", AuditContext("maria"))
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.posts, len(network.sends)) == (["hello"], 2)


async def test_thread_of_a_suspended_account_continues_where_it_stopped(tmp_path: Path) -> None:
    network = FakeNetwork("accepted", "suspended")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app, "one", "two", "three")
        held = await wait_until_parked(app, job)
        assert (held.attempts, held.state, network.posts) == (0, State.PENDING, ["one"])
        await app.accounts.resume("mastodon:anna", AuditContext("maria"))
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert network.posts == ["one", "two", "three"]


async def test_suspension_that_a_refresh_reports_holds_the_account(tmp_path: Path) -> None:
    network = FakeNetwork(good="new", refreshes=Failure(FailureKind.SUSPENDED, "The account is suspended."))
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        held = await wait_until_parked(app, await create_post(app))
        assert (held.attempts, held.state) == (0, State.PENDING)
        assert (await app.store.account("mastodon:anna")).state is AccountState.SUSPENDED


@pytest.mark.parametrize("credentials", [OLD, NEW])
async def test_reconnect_wins_over_a_refusal_of_the_credentials_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, credentials: dict[str, str]
) -> None:
    network = FakeNetwork(good="new")
    async with open_app(tmp_path, network) as app:
        await connect(app)
        set_state = app.store.set_account_state

        async def reconnect_first(*arguments: Any, **options: Any) -> StoredAccount:
            network.good = credentials["token"]
            await connect(app, credentials)
            return await set_state(*arguments, **options)

        monkeypatch.setattr(app.store, "set_account_state", reconnect_first)
        async with run_worker(app):
            job = await wait_for_end(app, await create_post(app))
        assert (job.state, job.attempts) == (State.COMPLETED, 1)
        assert (await app.store.account("mastodon:anna")).state is AccountState.ACTIVE
    assert network.posts == ["hello"]


async def test_reconnect_wins_over_new_tokens_of_the_credentials_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = FakeNetwork(good="new", refreshes=Tokens(credentials={"token": "renewed"}))
    async with open_app(tmp_path, network) as app:
        await connect(app)
        refresh = network.refresh

        async def reconnect_first(account: Account, http: Http) -> Tokens | Failure:
            await connect(app, NEW)
            return await refresh(account, http)

        monkeypatch.setattr(network, "refresh", reconnect_first)
        async with run_worker(app):
            assert (await wait_for_end(app, await create_post(app))).state is State.COMPLETED
        assert (await app.accounts.open("mastodon:anna")).credentials == NEW
    assert network.sends == ["old", "new"]


async def test_pause_during_a_refresh_loses_no_new_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = FakeNetwork(good="new", refreshes=Tokens(credentials=NEW))
    async with open_app(tmp_path, network) as app:
        await connect(app)
        refresh = network.refresh

        async def pause_first(account: Account, http: Http) -> Tokens | Failure:
            await app.accounts.pause("mastodon:anna", AuditContext("maria", "holidays"))
            return await refresh(account, http)

        monkeypatch.setattr(network, "refresh", pause_first)
        async with run_worker(app):
            job = await create_post(app)

            async def is_renewed() -> bool:
                return (await app.accounts.open("mastodon:anna")).credentials == NEW

            await wait_for(is_renewed)
            assert (await app.store.account("mastodon:anna")).state is AccountState.PAUSED
            await wait_for_end(app, job, State.PENDING)
            monkeypatch.setattr(network, "refresh", refresh)
            await app.accounts.resume("mastodon:anna", AuditContext("maria", "back"))
            app.wakeup.notify()
            assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.sends, network.refreshed) == (["old", "new"], 1)


@pytest.mark.parametrize("passing", [Failure(FailureKind.TRANSIENT, "Busy."), AWAY, LostResponse("Silence.")])
async def test_temporary_refresh_failure_is_retried_and_keeps_the_account_active(
    tmp_path: Path, passing: Failure | Exception
) -> None:
    network = FakeNetwork(good="new", refreshes=passing)
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await wait_for_end(app, await create_post(app))
        assert (await app.store.account("mastodon:anna")).state is AccountState.ACTIVE
        letter = await app.store.dead_letter(job.id)
    assert (letter.cause, letter.job.attempts, network.refreshed) == (DeadLetterCause.EXHAUSTED, 3, 3)


async def test_lookup_with_a_refused_token_resumes_after_reconnecting(
    tmp_path: Path,
) -> None:
    network = FakeNetwork("lost")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app)
        await wait_for_end(app, job, State.UNCERTAIN)
        network.good = "new"

        async def is_held() -> bool:
            return (await app.store.account("mastodon:anna")).state is AccountState.TOKEN_EXPIRED

        await wait_for(is_held)
        assert (await wait_for_end(app, job, State.UNCERTAIN)).run_at is not None, "nobody has to be asked"
        await connect(app, NEW)
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.posts, network.sends) == (["hello"], ["old"])


async def test_pause_by_a_person_survives_reconnecting(tmp_path: Path) -> None:
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        await app.pause("account", "mastodon:anna", reason="holidays")
        job = await create_post(app)
        await connect(app, OLD)
        assert [(gate.scope, gate.reason) for gate in await app.store.gates()] == [(Scope.ACCOUNT, "holidays")]
        await app.resume("account", "mastodon:anna")
        assert (await wait_for_end(app, job)).state is State.COMPLETED


# What cannot be published


async def test_post_past_publish_until_fails_as_missed_without_a_request(tmp_path: Path) -> None:
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app:
        await connect(app)
        until = datetime.now(UTC) + timedelta(seconds=0.3)
        job = await create_post(app, publish_until_at=until)

        async def is_past() -> bool:
            return datetime.now(UTC) > until

        await wait_for(is_past)
        async with run_worker(app):
            missed = await wait_for_end(app, job)
        assert (missed.state, missed.may_be_live) == (State.FAILED, False)
        assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.MISSED
    assert network.sends == []


async def test_post_sent_before_publish_until_is_looked_up_after_it(tmp_path: Path) -> None:
    network = FakeNetwork("lost")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app, publish_until_at=datetime.now(UTC) + timedelta(seconds=0.3))
        await wait_for_end(app, job, State.UNCERTAIN)
        done = await wait_for_end(app, job)
    assert (done.state, network.posts) == (State.COMPLETED, ["hello"])


async def test_post_of_a_missing_account_fails(tmp_path: Path) -> None:
    async with open_app(tmp_path, FakeNetwork()) as app:
        await connect(app)
        job = await create_post(app)
        SqliteDatabase(tmp_path / "postino.db").sql("DELETE FROM {accounts}")
        async with run_worker(app):
            assert "Account mastodon:anna does not exist" in ((await wait_for_end(app, job)).last_error or "")


async def test_uncertain_post_of_a_missing_account_waits_for_a_person(tmp_path: Path) -> None:
    network = FakeNetwork("lost")
    async with open_app(tmp_path, network) as app, run_worker(app):
        await connect(app)
        job = await create_post(app)
        await wait_for_end(app, job, State.UNCERTAIN)
        SqliteDatabase(tmp_path / "postino.db").sql("DELETE FROM {accounts}")
        result = await wait_for_person(app, job)
    assert "does not exist" in (result.last_error or "")


async def test_post_of_a_sandbox_account_is_retried_until_the_sandbox_runs(tmp_path: Path) -> None:
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app, run_worker(app):
        await app.accounts.add("mastodon", "anna", OLD, base_url="sandbox:/mastodon")
        job = await wait_for_end(app, await create_post(app))
    assert "belongs to the sandbox, which is not running" in (job.last_error or "")
    assert network.sends == []
