"""The database goes away while a program opens it."""

from pathlib import Path

import pytest

from postino import Postino
from postino.errors import StoreUnreachable
from tests.engine.conftest import make_config
from tests.servers.proxy import Proxy, any_of, nth

BEGINNING = any_of("SELECT postino.make_partitions(9)")


async def test_interrupted_open_raises_and_can_be_repeated(
    app: Postino, proxy: Proxy, postgres_url: str, tmp_path: Path
) -> None:
    proxy.loses = nth(1, BEGINNING)
    other = Postino(make_config(tmp_path, proxy.url(postgres_url)))
    with pytest.raises(StoreUnreachable, match="does not respond"):
        await other.open()
    async with other:
        job = await other.enqueue("flow")
    assert (await app.store.job(job.id)).id == job.id
