"""The sandbox as a process, with its admin API."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

from postino.values.provider import Account


class SandboxServer:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "postino.sandbox", "--data-dir", str(self._directory), "--until-eof"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.url: str = json.loads(self._process.stdout.readline())["url"]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def account(self, network: str, url: str | None = None) -> Account:
        """The one that is there from the start; `url` is another way to the sandbox."""
        known = next(one for one in self.get("accounts") if one["network"] == network)
        return Account(
            id=network,
            network=network,
            handle=known["handle"],
            base_url=f"{url or self.url}/{network}",
            credentials=known["credentials"],
            remote_id=known["remote_id"],
        )

    def fail(self, network: str, fault: str, endpoint: str | None = None, **params: Any) -> None:
        told = {"network": network, "fault": fault, "times": 1, "params": params}
        self.post("faults", told | ({"endpoint": endpoint} if endpoint else {}))

    def published(self, network: str) -> list[dict[str, Any]]:
        return [one for one in self.get("published") if one["network"] == network]

    def get(self, path: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}/_sandbox/{path}", timeout=10) as answer:
            data: list[dict[str, Any]] = json.load(answer)["data"]
        return data

    def post(self, path: str, body: object) -> None:
        data = json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.url}/_sandbox/{path}", data, {"Content-Type": "application/json"})
        urllib.request.urlopen(asked, timeout=10).close()

    def reset(self) -> None:
        self.post("reset", {})
