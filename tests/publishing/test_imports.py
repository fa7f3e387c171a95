"""Imports do not block the event loop, however large or invalid the file is."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from postino import Postino
from postino.publishing.import_rows import MAX_UNKNOWN
from postino.publishing.imports import MAX_CONCURRENT, Importer
from postino.publishing.suggestions import MAX_COMPARED_NAMES, AccountSuggestions
from postino.values.post import StoredAccount
from tests.publishing.fake_network import FakeNetwork, open_app


class WatchedImporter(Importer):
    """Counts the files checked concurrently, and asserts that none is checked in the event loop."""

    at_work = 0
    most = 0
    lock = threading.Lock()

    def check_file(self, file: bytes, timezone: str | None, known: Mapping[str, StoredAccount]) -> tuple[int, str, str]:
        assert threading.current_thread() is not threading.main_thread()
        with self.lock:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        try:
            return super().check_file(file, timezone, known)
        finally:
            with self.lock:
                self.at_work -= 1


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Postino]:
    async with open_app(tmp_path, FakeNetwork()) as app:
        await app.accounts.add("mastodon", "anna", {"token": "t"}, base_url="https://there")
        yield app


def make_file(accounts: str, rows: int, word: str = "row") -> bytes:
    lines = (f"{word} {number},{accounts},2035-01-01T00:00Z\n" for number in range(rows))
    return ("text,accounts,at\n" + "".join(lines)).encode()


async def test_files_are_checked_one_at_a_time_outside_the_event_loop(app: Postino) -> None:
    importer = WatchedImporter(app.store, app.post_validator)
    known = {account.id: account for account in await app.store.accounts()}
    files = [make_file("mastodon:anna", 20, word) for word in "abcdef"]
    result = await asyncio.gather(*(importer.check(file, None, known, "api", "api") for file in files))
    assert [(each.rows, json.loads(each.problems)["invalid_rows"]) for each in result] == [(20, 0)] * 6
    assert importer.most == MAX_CONCURRENT


async def test_only_the_first_unknown_accounts_of_a_row_are_named(app: Postino) -> None:
    names = "|".join(f"mastodon:ana{number}" for number in range(80))
    known = {account.id: account for account in await app.store.accounts()}
    result = await Importer(app.store, app.post_validator).check(make_file(names, 3), None, known, "api", "api")
    faults = json.loads(result.problems)["problems"]
    assert json.loads(result.problems)["invalid_rows"] == 3
    assert len(faults) == 3 * (MAX_UNKNOWN + 1)
    assert faults[MAX_UNKNOWN]["message"] == f"{80 - MAX_UNKNOWN} more of these accounts do not exist."


async def test_suggestions_are_computed_once_for_the_first_names(app: Postino) -> None:
    class Counted(dict[str, StoredAccount]):
        looked = 0

        def values(self):  # type: ignore[no-untyped-def]
            self.looked += 1
            return super().values()

    unknown = AccountSuggestions({account.id: account for account in await app.store.accounts()})
    unknown.known = counted = Counted(unknown.known)
    results = [unknown.describe(f"mastodon:ann{number % 50}") for number in range(1000)]
    assert results[0] == "Account 'mastodon:ann0' does not exist. Did you mean mastodon:anna?"
    assert results[-1] == "Account 'mastodon:ann49' does not exist."
    assert counted.looked == MAX_COMPARED_NAMES
