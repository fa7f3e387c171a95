"""docs/sandbox.md says what the code does."""

from __future__ import annotations

from pathlib import Path

from postino.sandbox.accounts import list_seeded_accounts
from postino.sandbox.admin_api import AdminApi
from postino.sandbox.database import SandboxDatabase
from postino.sandbox.dispatch import Dispatcher
from postino.sandbox.faults import FAULT_KINDS
from postino.sandbox.networks import default_settings, networks
from tests.documents import ROOT, code, codes, prose, table
from tests.sandbox.sandbox_client import SandboxClient
from tests.sandbox.scripted_calls import SCRIPTED_CALLS

PAGE = ROOT / "docs" / "sandbox.md"


def test_documented_faults_match_the_code() -> None:
    rows = table(PAGE, "fault", "processed", "params", "meaning")
    body = [(code(row["fault"]), row["processed"], codes(row["params"]), row["meaning"]) for row in rows]
    assert body == [
        (name, "yes" if kind.processed else "no", list(kind.params), kind.meaning) for name, kind in FAULT_KINDS.items()
    ]


def test_documented_networks_match_the_code() -> None:
    rows = table(PAGE, "network", "account", "credentials", "endpoints")
    accounts = [(code(row["network"]), code(row["account"]), codes(row["credentials"])) for row in rows]
    assert accounts == [(it.network, it.handle, list(it.credentials)) for it in list_seeded_accounts()]
    for row in rows:
        endpoints = networks()[code(row["network"])].endpoints
        assert codes(row["endpoints"]) == [it.name for it in endpoints]
        bold = [it.name for it in endpoints if f"**`{it.name}`**" in row["endpoints"]]
        assert bold == [it.name for it in endpoints if it.visible]


def test_documented_settings_match_the_code() -> None:
    rows = table(PAGE, "setting", "default", "meaning")
    assert {code(row["setting"]): float(code(row["default"])) for row in rows} == default_settings()
    assert all(row["meaning"] for row in rows)


async def test_documented_admin_requests_match_the_routes(tmp_path: Path) -> None:
    body = {code(row["request"]) for row in table(PAGE, "request", "effect")}
    database = SandboxDatabase(tmp_path / "sandbox.db")
    routes = AdminApi(Dispatcher(database)).routes()
    database.close()
    assert body == {f"{route.method} {route.path}" for route in routes}


async def test_documented_record_and_log_fields_exist(sandbox: SandboxClient) -> None:
    await (await SCRIPTED_CALLS["telegram", "sendMessage"](sandbox)).send(sandbox)
    [result] = await sandbox.list_published()
    words = set(codes(prose(PAGE)))
    assert set(result) <= words
    [timed] = await sandbox.log()
    assert set(timed) <= words
