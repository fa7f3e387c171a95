"""The thread that beats for a busy worker outlives whatever happens to its own connection."""

from postino import Postino, State
from tests.engine.conftest import ended, eventually, working
from tests.outages.flow import Flow, Logs, alarms, asking
from tests.servers.proxy import Loses, Proxy, any_of, nothing


async def test_a_heart_that_is_cut_off_while_it_begins_beats_all_the_same(
    app: Postino, flow: Flow, proxy: Proxy, logs: Logs
) -> None:
    beginning = any_of("SELECT postino.make_partitions(9)")
    proxy.loses = lambda transaction: beginning(transaction) or asking("survey")(transaction)
    async with working(app):
        await eventually(lambda: lost_twice(proxy, beginning))
        proxy.loses = nothing
        assert (await ended(app, await app.enqueue("flow"))).state is State.COMPLETED
    assert alarms(logs) == []


async def lost_twice(proxy: Proxy, what: Loses) -> bool:
    return sum(map(what, proxy.lost)) >= 2
