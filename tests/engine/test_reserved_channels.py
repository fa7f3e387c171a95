"""The channels of networks are reserved: only posts use their slots, lanes and circuits."""

from typing import Any

import apsw
import pytest

from postino import JobSpec, Postino
from postino.engine.call import Call
from postino.errors import WrongUse
from postino.stores.records import JobFilter
from postino.values.job import Job, State
from postino.values.post import POST
from tests.engine.conftest import run_worker, wait_for_end

FOREIGN = [
    JobSpec("crm.sync", channel="bluesky"),
    JobSpec("crm.sync", channel="mastodon", account="mastodon:acme", brand="acme"),
    JobSpec("crm.sync", channel="telegram", key="k"),
    JobSpec("bluesky"),  # the channel is the type where it is left out
    JobSpec("postino.posts", channel="bluesky"),
]


@pytest.mark.parametrize("spec", FOREIGN, ids=str)
async def test_foreign_type_on_a_network_channel_is_refused(app: Postino, spec: JobSpec) -> None:
    for attempt in (app.enqueue_spec(spec), app.enqueue_many([("crm.sync",), spec])):
        with pytest.raises(WrongUse, match="Choose another channel") as raised:
            await attempt
        assert raised.value.field == "channel"
    assert await app.store.jobs(JobFilter()) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_callers_own_transaction_cannot_use_a_network_channel(app: Postino) -> None:
    await app.open()
    connection = apsw.Connection(str(app.config.data_dir / "postino.db"))
    with connection, pytest.raises(WrongUse) as raised:
        await app.enqueue("crm.sync", channel="mastodon", connection=connection)
    connection.close()
    assert raised.value.field == "channel"


async def test_post_and_planned_networks_keep_their_channels(app: Postino) -> None:
    assert (await app.enqueue(POST, channel="mastodon", account="mastodon:acme")).channel == "mastodon"
    assert (await app.enqueue("crm.sync", channel="instagram")).channel == "instagram"


async def test_child_on_a_network_channel_is_refused(app: Postino) -> None:
    @app.handler("parent")
    async def parent(job: Job, payload: Any, call: Call) -> None:
        with pytest.raises(WrongUse, match="channel of a network"):
            await call.enqueue("child", channel="bluesky")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("parent"))
    assert job.state is State.COMPLETED
