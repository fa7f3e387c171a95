"""One `postino up` and one `postino server` for all tests of a module, each on a data directory of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from tests.api.processes import Server, Up
from tests.crash.verdict import list_unreachable


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with Up(tmp_path_factory.mktemp("up") / "data") as up:
        yield up
        up.interrupt()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a data directory. Whatever was killed in it: every job that is left can be claimed."""
    yield (folder := tmp_path / "data")
    if (path := folder / "postino.db").exists():
        assert asyncio.run(list_unreachable_in(path)) == []


async def list_unreachable_in(path: Path) -> list[str]:
    store = Store(Sqlite(path))
    await store.open()
    try:
        return await list_unreachable(store)
    finally:
        await store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server") / "data") as server:
        yield server
