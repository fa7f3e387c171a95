"""A real Bluesky server with test accounts. It connects to nothing outside this machine."""

from __future__ import annotations

import itertools
import json
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import ServerMissing
from tests.servers.child import BUILD, ChildServer

FILES = Path(__file__).with_name("pds")
MODULES = BUILD / "pds" / "node_modules"
HOW = "The Bluesky server is not installed: run `make servers`, which needs Node 20 or newer and the npm registry"


def find_program() -> str:
    """Node, if the server is installed as the lock file says."""
    node = shutil.which("node")
    installed = BUILD / "pds" / "package-lock.json"
    complete = (MODULES / "better-sqlite3" / "build" / "Release" / "better_sqlite3.node").exists()
    same = installed.exists() and installed.read_bytes() == (FILES / "package-lock.json").read_bytes()
    if node is None or not complete or not same:
        raise ServerMissing(HOW)
    return node


@dataclass(frozen=True)
class Person:
    """A user with an account on the server."""

    handle: str
    password: str
    did: str
    access_token: str
    refresh_token: str


class PdsServer(ChildServer):
    health = "/xrpc/_health"

    def __init__(self) -> None:
        self._node = find_program()
        super().__init__()
        self._numbers = itertools.count(1)

    def command(self) -> list[str]:
        return [self._node, str(FILES / "start.cjs"), str(self.port), str(self.directory)]

    def environment(self) -> dict[str, str]:
        return {"NODE_PATH": str(MODULES), "LOG_ENABLED": "false"}

    def sign_up(self) -> Person:
        handle, password = f"person{next(self._numbers)}.test", "correct-horse-battery"
        fields = {"handle": handle, "email": f"{handle}@mail.test", "password": password}
        response = self.call("com.atproto.server.createAccount", fields)
        return Person(handle, password, response["did"], response["accessJwt"], response["refreshJwt"])

    def list_records(self, person: Person) -> list[dict[str, Any]]:
        """Return all records of a person, oldest key first."""
        place = f"repo={person.did}&collection=app.bsky.feed.post&limit=100&reverse=true"
        records: list[dict[str, Any]] = self.call(f"com.atproto.repo.listRecords?{place}")["records"]
        return records

    def call(self, name: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/xrpc/{name}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            result: dict[str, Any] = json.load(response)
        return result
