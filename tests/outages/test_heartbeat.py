"""The heartbeat thread of a busy worker survives the loss of its own connection."""

from postino import Postino, State
from tests.engine.conftest import run_worker, wait_for, wait_for_end
from tests.outages.job_flow import Flow, Logs, find_alarms, is_query
from tests.servers.proxy import Loses, Proxy, any_of, lose_nothing


async def test_heartbeat_thread_survives_a_lost_first_connection(
    app: Postino, flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    beginning = any_of("SELECT postino.make_partitions(9)")
    proxy.loses = lambda transaction: beginning(transaction) or is_query("poll")(transaction)
    async with run_worker(app):
        await wait_for(lambda: lost_twice(proxy, beginning))
        proxy.loses = lose_nothing
        assert (await wait_for_end(app, await app.enqueue("flow"))).state is State.COMPLETED
    assert find_alarms(logs) == []


async def lost_twice(proxy: Proxy, what: Loses) -> bool:
    return sum(map(what, proxy.lost)) >= 2
