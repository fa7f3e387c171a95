"""A small Mastodon server with its own storage, independent of the sandbox."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.servers import ServerMissing
from tests.servers.child import BUILD, ChildServer

FILES = Path(__file__).with_name("mastodon")
PROGRAM = BUILD / "mastodon" / "bin" / "mastodon_mock"
TOKEN = "mock_token"


def find_program() -> Path:
    """The program, if it is installed as the list of requirements says."""
    installed = BUILD / "mastodon" / "requirements.txt"
    same = installed.exists() and installed.read_bytes() == (FILES / "requirements.txt").read_bytes()
    if not same or not PROGRAM.exists():
        raise ServerMissing("The Mastodon server is not installed: run `make servers`, which needs the package index")
    return PROGRAM


class MastodonServer(ChildServer):
    health = "/api/v2/instance"

    def __init__(self) -> None:
        self._program = find_program()
        super().__init__()

    def command(self) -> list[str]:
        return [str(self._program), "serve", "--host", "127.0.0.1", "--port", str(self.port), "--in-memory"]

    def statuses(self) -> list[dict[str, Any]]:
        """Everything that is out, newest first."""
        me = self.get("/api/v1/accounts/verify_credentials")
        listed: list[dict[str, Any]] = self.get(f"/api/v1/accounts/{me['id']}/statuses?limit=40")
        return listed

    def get(self, path: str) -> Any:
        result = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(result, timeout=10) as answer:
            return json.load(answer)
