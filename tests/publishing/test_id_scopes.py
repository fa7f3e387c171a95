"""Where remote ids are unique: on Telegram, each chat numbers its messages from 1."""

from datetime import UTC, datetime

import pytest

from postino import Done, Job, State, Unknown
from postino.providers.registry import load_built_in
from postino.publishing.post_request import PostRequest
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.records import ClaimRequest, SettledJob, WorkerInfo
from postino.values.content import Content
from postino.values.job import new_id
from postino.values.provider import Account, find_id_scope
from postino.wiring import Postino
from tests.engine.conftest import app, database_url

__all__ = ["app", "database_url"]
CHANNEL = {"bot_token": "123:secret", "chat_id": "-1001234"}


async def make_uncertain_post(app: Postino, text: str) -> Job:
    """Return a post that may be published although no visible call of it is stored, as after a restore."""
    await app.posts.schedule(PostRequest(content=Content(body=text), accounts=("telegram:ada",)))
    await app.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    poll = await app.store.poll("w")
    (job,) = await app.store.claim(ClaimRequest(worker="w", token=new_id(), free=1, poll=poll))
    settlement = settle_job(job, Unknown("?"), RetryPolicy(), datetime.now(UTC), 0)
    await app.store.settle([SettledJob(job, settlement)])
    return await app.store.job(job.id)


async def test_id_that_a_person_enters_is_unique_in_the_chat_of_the_account(app: Postino) -> None:
    await app.accounts.add("telegram", "ada", CHANNEL, remote_id=CHANNEL["chat_id"])
    post, other = [await make_uncertain_post(app, text) for text in ("one", "two")]
    resolved = await app.resolve(post.id, Done(remote_id="7"), reason="it is there")
    assert (resolved.state, resolved.remote_id) == (State.COMPLETED, "7")
    for scope, taken in (("-1001234", {"7"}), ("", set()), ("-1005678", set())):
        assert await app.store.remote_ids_of_others(other, ["7"], scope) == taken
    await app.accounts.add("telegram", "ada", CHANNEL | {"chat_id": "-1005678"})
    assert (await app.resolve(other.id, Done(remote_id="7"), reason="it is there")).state is State.COMPLETED


@pytest.mark.parametrize(
    ("token", "chat", "scope"),
    [
        ("123:secret", "-1001234", "-1001234"),
        ("123:secret", "@news", "@news"),
        ("123:secret", "4567", "123 4567"),
        ("123:secret", "-4567", "123 -4567"),
        ("secret", "4567", "4567"),
        ("secret:123", "4567", "4567"),
    ],
)
def test_private_chat_and_basic_group_have_message_numbers_of_the_bot(token: str, chat: str, scope: str) -> None:
    account = Account(
        id="telegram:ada",
        network="telegram",
        handle="ada",
        base_url="https://api.telegram.org",
        credentials={"bot_token": token, "chat_id": chat},
    )
    assert find_id_scope(load_built_in().providers["telegram"], account) == scope
