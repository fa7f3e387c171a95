"""A new network is one file; faults, accounts, record and feed need no further code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postino.sandbox import networks as folder
from postino.sandbox.accounts import list_seeded_accounts
from postino.sandbox.faults import list_faults_by_endpoint
from tests.sandbox.sandbox_client import SandboxClient, run_sandbox
from tests.sandbox.scripted_calls import bearer

FILE = """
from postino.sandbox.network import AccountSetup, Reply, SandboxEndpoint, SandboxNetwork, derive_secret


class Pigeons(SandboxNetwork):
    name, title, colour, icon, handle = "pigeons", "Pigeons", "#777777", "M4 4h16v16H4z", "loft"
    settings = {"flight_seconds": 1}

    def set_up_account(self, handle):
        token = derive_secret(self.name, handle, "ring")
        return AccountSetup(remote_id=handle, credentials={"ring": token}, tokens={token: "access"})

    def refuse(self, *_):
        return Reply(418, {"coo": "no"})

    reply_bad_request = reply_unauthorized = reply_blocked = reply_not_found = refuse
    reply_internal_error = reply_misleading_error = refuse
    reply_rate_limited = lambda self, seconds, now: Reply(429, {"coo": "later"})


def release(call, state):
    number = str(state.next_number())
    state.add("letter", number, {"text": call.text("letter")}, listed=True)
    state.publish(number, call.text("letter"))
    return Reply(200, {"id": number, "seconds": state.get_setting("flight_seconds")})


Pigeons.endpoints = (
    SandboxEndpoint(
        name="release", methods=("POST",), path="/release", act=release, takes=("letter",), visible=True, listed=True
    ),
)
NETWORK = Pigeons()
"""


@pytest.fixture
def pigeons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "pigeons.py").write_text(FILE)
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    for known in (folder.networks, folder.default_settings):
        known.cache_clear()
    yield
    sys.modules.pop(f"{folder.__name__}.pigeons", None)
    for known in (folder.networks, folder.default_settings):
        known.cache_clear()


@pytest.mark.usefixtures("pigeons")
async def test_new_file_is_a_new_network(tmp_path: Path) -> None:
    [account] = [it for it in list_seeded_accounts() if it.network == "pigeons"]
    assert ("pigeons", "release", "error_but_published") in list_faults_by_endpoint()
    async with run_sandbox(tmp_path / "sandbox.db") as sandbox:
        assert (await release(sandbox, account.credentials["ring"]))["seconds"] == 1
        await sandbox.fault("pigeons", "error_but_published")
        assert await release(sandbox, account.credentials["ring"]) == {"coo": "no"}
        assert await release(sandbox, "stolen") == {"coo": "no"}
        assert [(it["network"], it["text"]) for it in await sandbox.list_published()] == [("pigeons", "coo")] * 2
        render = (await sandbox.get("/_sandbox/networks")).json["data"]
        assert "Pigeons" in [it["title"] for it in render]


async def release(sandbox: SandboxClient, ring: str) -> dict[str, object]:
    rows: dict[str, object] = (await sandbox.post("/pigeons/release", {"letter": "coo"}, **bearer(ring))).json
    return rows
