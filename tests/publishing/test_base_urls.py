"""A base URL that somebody wrote into the database in another form is never requested."""

from __future__ import annotations

from pathlib import Path

import pytest

from postino.stores.records import AuditContext
from postino.values.post import AccountState
from postino.vault.vault import VaultError
from tests.contract.databases import SqliteDatabase
from tests.publishing.fake_network import FakeNetwork, connect, open_app


@pytest.mark.parametrize(
    "base_url",
    ["sandbox:/_sandbox/reset#", "sandbox:@127.0.0.1:22/", "https://a@there", "https://there/../x", "https://there?x"],
)
async def test_unusual_stored_base_url_is_not_used(tmp_path: Path, base_url: str) -> None:
    network = FakeNetwork()
    async with open_app(tmp_path, network) as app:
        await connect(app)
        SqliteDatabase(tmp_path / "postino.db").sql(f"UPDATE {{accounts}} SET base_url = '{base_url}'")
        with pytest.raises(VaultError):
            await app.accounts.open("mastodon:anna")
        with pytest.raises(VaultError):
            await app.accounts.check("mastodon:anna", network, lambda _: pytest.fail("called"), AuditContext("me", "x"))
        assert (await app.store.account("mastodon:anna")).state is AccountState.LOCKED
    assert (network.sends, network.refreshed) == ([], 0)
