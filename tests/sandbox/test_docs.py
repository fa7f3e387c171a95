"""What docs/sandbox.md says about the sandbox is what the sandbox is."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from postino.sandbox.accounts import list_seeded_accounts
from postino.sandbox.admin_api import AdminApi
from postino.sandbox.database import SandboxDatabase
from postino.sandbox.dispatch import Dispatcher
from postino.sandbox.faults import FAULT_KINDS
from postino.sandbox.networks import default_settings, networks
from tests.documents import ROOT, code, codes, prose, table
from tests.sandbox.running import Sandbox
from tests.sandbox.scripts import LINES

PAGE = ROOT / "docs" / "sandbox.md"


def test_the_faults_with_what_they_mean_and_can_be_told() -> None:
    rows = table(PAGE, "fault", "processed", "params", "meaning")
    told = [(code(row["fault"]), row["processed"], codes(row["params"]), row["meaning"]) for row in rows]
    assert told == [
        (name, "yes" if kind.processed else "no", list(kind.params), kind.meaning) for name, kind in FAULT_KINDS.items()
    ]


def test_the_networks_with_their_accounts_and_endpoints() -> None:
    rows = table(PAGE, "network", "account", "credentials", "endpoints")
    accounts = [(code(row["network"]), code(row["account"]), codes(row["credentials"])) for row in rows]
    assert accounts == [(it.network, it.handle, list(it.credentials)) for it in list_seeded_accounts()]
    for row in rows:
        endpoints = networks()[code(row["network"])].endpoints
        assert codes(row["endpoints"]) == [it.name for it in endpoints]
        bold = [it.name for it in endpoints if f"**`{it.name}`**" in row["endpoints"]]
        assert bold == [it.name for it in endpoints if it.visible]


def test_the_settings_and_their_defaults() -> None:
    rows = table(PAGE, "setting", "default", "meaning")
    assert {code(row["setting"]): float(code(row["default"])) for row in rows} == default_settings()
    assert all(row["meaning"] for row in rows)


async def test_the_requests_of_the_door(tmp_path: Path) -> None:
    told = {code(row["request"]) for row in table(PAGE, "request", "effect")}
    database = SandboxDatabase(tmp_path / "sandbox.db")
    async with aiohttp.ClientSession() as session:
        routes = AdminApi(Dispatcher(database, session)).routes()
    database.close()
    assert told == {f"{route.method} {route.path}" for route in routes}


async def test_a_line_of_the_record_has_what_is_said(sandbox: Sandbox) -> None:
    await (await LINES["telegram", "sendMessage"](sandbox)).send(sandbox)
    [seen] = await sandbox.published()
    words = set(codes(prose(PAGE)))
    assert set(seen) <= words
    [timed] = await sandbox.log()
    assert set(timed) <= words
