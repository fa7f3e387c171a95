"""The simulated networks in their own process: their record says what is live, whatever the store says."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.crash.publishing.post_shapes import PICTURES

MEDIA_SECONDS = 0.1  # until an uploaded picture is ready


@dataclass(frozen=True, slots=True)
class LivePost:
    """One live post in the record of the networks."""

    number: int
    network: str
    account: str
    remote_id: str
    text: str
    kind: str = "post"
    reply_to: str | None = None
    published_at: str = ""


class Oracle:
    """The sandbox and its admin API. After a kill and a start it has the same record at another address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=10)

    def start(self) -> None:
        command = [sys.executable, "-m", "postino.sandbox", "--data-dir", str(self.folder), "--port", "0"]
        self.process = subprocess.Popen([*command, "--until-eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.url: str = json.loads(self.process.stdout.readline())["url"]
        for name in PICTURES:
            urllib.request.urlopen(f"{self.url}/_sandbox/media/{name}", timeout=20).close()  # drawn at the first call
        self.change(mastodon_media_seconds=MEDIA_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def open_account(self, network: str) -> dict[str, Any]:
        """Open an account and return its handle, remote id and credentials."""
        return self.ask("accounts", {"network": network})

    def fail(self, network: str, endpoint: str, fault: str, account: str | None, params: Mapping[str, Any]) -> int:
        """Add a fault for the next call of this account, or of any account; return its id."""
        fault_request = {"network": network, "endpoint": endpoint, "fault": fault, "account": account, "times": 1}
        number: int = self.ask("faults", fault_request | {"params": dict(params)})["id"]
        return number

    def fail_often(self, fault: str, rate: float, params: Mapping[str, Any]) -> None:
        self.ask("faults", {"network": "*", "fault": fault, "rate": rate, "params": dict(params)})

    def remove_faults(self) -> None:
        """Remove all faults."""
        self.ask("faults", method="DELETE")

    def list_fired_faults(self) -> set[int]:
        """Return the ids of the faults that occurred."""
        return {fault["id"] for fault in self.ask("faults?all=1")["data"] if fault["fired"]}

    def change(self, **settings: float) -> None:
        """Change settings of the networks, such as processing times and limits."""
        self.ask("settings", settings)

    def list_live_posts(self, after: int = 0) -> list[LivePost]:
        names = LivePost.__slots__
        return [
            LivePost(**{name: row[name] for name in names})
            for row in self.ask(f"published?after={after}&all=1")["data"]
        ]

    def ask(self, path: str, body: object = None, method: str | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/_sandbox/{path}", data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            body_read: dict[str, Any] = json.load(response)
        return body_read
