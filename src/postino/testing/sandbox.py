"""The sandbox, Postino's simulated networks, in a process of its own, with the calls of its admin API."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

from postino.values.provider import Account


class SandboxServer:
    """Starts the sandbox with its database in a directory, and stops it at the end of the `with` block."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Self:
        command = [sys.executable, "-P", "-m", "postino.sandbox", "--data-dir", str(self._directory), "--until-eof"]
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
        """Return the account that a network has from the start; `url` is another address of the sandbox."""
        known = next(account for account in self.get("accounts") if account["network"] == network)
        return Account(
            id=network,
            network=network,
            handle=known["handle"],
            base_url=f"{url or self.url}/{network}",
            credentials=known["credentials"],
            remote_id=known["remote_id"],
        )

    def fail(self, network: str, fault: str, endpoint: str | None = None, **params: Any) -> None:
        """Make the next request to a network, or to one of its endpoints, fail in this way."""
        body = {"network": network, "fault": fault, "times": 1, "params": params}
        self.post("faults", body | ({"endpoint": endpoint} if endpoint else {}))

    def published(self, network: str) -> list[dict[str, Any]]:
        """Return what was published on a network, in order."""
        return [post for post in self.get("published") if post["network"] == network]

    def get(self, path: str) -> list[dict[str, Any]]:
        """Return the data of a list of the admin API, such as `published`, `faults` or `accounts`."""
        with urllib.request.urlopen(f"{self.url}/_sandbox/{path}", timeout=10) as response:
            data: list[dict[str, Any]] = json.load(response)["data"]
        return data

    def post(self, path: str, body: object) -> None:
        """Send a request to the admin API."""
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/_sandbox/{path}", data, headers)
        urllib.request.urlopen(request, timeout=10).close()

    def reset(self) -> None:
        """Delete posts and faults."""
        self.post("reset", {})
