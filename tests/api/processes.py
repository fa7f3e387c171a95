"""`postino up` and `postino server` as real processes, and an HTTP client for them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psutil

from tests.api import openapi_check

DEADLINE = 30.0
QUICK = {
    "POSTINO_PUBLISHING_TIMEOUT_FACTOR": "0.02",
    "POSTINO_PUBLISHING_SEND_WITHIN": "1",
    "POSTINO_CIRCUITS_FAILURE_THRESHOLD": "1000",  # faults in tests must not open the circuit
    "POSTINO_WORKER_LEASE": "1.5",
    "POSTINO_WORKER_HEARTBEAT": "0.3",
    "POSTINO_WORKER_POLL": "0.1",
}


def make_environment() -> dict[str, str]:
    """Return our environment without Postino's settings, and with short timeouts."""
    return {name: text for name, text in os.environ.items() if not name.startswith("POSTINO_")} | QUICK


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request; a body that is not bytes is sent as JSON. The response must fit openapi.json."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=DEADLINE)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, sent, {**self.headers, **named})
            answer = connection.getresponse()
            received = {name.lower(): text for name, text in answer.getheaders()}
            reply = Reply(answer.status, received, answer.read())
            openapi_check.check(method, path, reply.status, reply.headers, reply.body)
            return reply
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        return reply.json


class Process:
    """`postino … --json` in a process group of its own; `ready` is the line it prints when it is ready."""

    def __init__(self, folder: Path, *words: str, **settings: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "postino", *words, "--data-dir", str(folder), "--port", "0", "--json"],
            env=make_environment() | settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=DEADLINE)[1]
        self.ready = json.loads(line)
        key = (folder / "api.key").read_text().strip()
        self.api = Client(self.ready["url"], {"Authorization": f"Bearer {key}"})

    def children(self, word: str | None = None) -> list[psutil.Process]:
        """Return the running child processes of this kind."""
        there = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in there if word is None or word in get_command_line(child)]

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> str:
        """Wait for the end and return what was written to stderr."""
        return self.process.communicate(timeout=DEADLINE)[1]

    def interrupt(self) -> str:
        """Interrupt the whole group, as Ctrl-C does."""
        os.killpg(self.process.pid, signal.SIGINT)
        result = self.end()
        assert self.process.returncode == 0, result
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.kill_group()


class Server(Process):
    """The API server without workers."""

    def __init__(self, folder: Path, **settings: str) -> None:
        super().__init__(folder, "server", **settings)


class Up(Process):
    def __init__(self, folder: Path, *words: str, **settings: str) -> None:
        super().__init__(folder, "up", *words, **settings)
        self.sandbox = Client(self.ready["sandbox_url"])

    def list_published(self) -> list[dict[str, Any]]:
        """Return what the simulated networks have published."""
        posts: list[dict[str, Any]] = self.sandbox.get("/_sandbox/published")["data"]
        return posts

    def texts(self) -> list[str]:
        return [entry["text"] for entry in self.list_published()]

    def fault(self, network: str, fault: str, times: int = 1, **more: Any) -> None:
        body = {"network": network, "fault": fault, "times": times, **more}
        reply = self.sandbox.ask("POST", "/_sandbox/faults", body)
        assert reply.status == 201, reply

    def post(self, text: str, *accounts: str, **more: Any) -> Any:
        reply = self.api.ask("POST", "/v1/posts", {"text": text, "accounts": [*accounts], **more})
        assert reply.status in (200, 201, 202), reply
        return reply.json

    def wait_for_status(self, post_id: str, status: str = "published") -> Any:
        """Return the post when it has this status; if uncertain, when it needs a person."""

        def look() -> Any:
            post = self.api.get(f"/v1/posts/{post_id}")
            return post if post["status"] == status and (status != "uncertain" or post["needs_person"]) else None

        return eventually(look, lambda: self.api.get(f"/v1/posts/{post_id}"))


def get_command_line(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):  # it has just ended
        return process.cmdline()
    return []


def eventually(look: Callable[[], Any], instead: Callable[[], Any] = lambda: None) -> Any:
    """Call `look` until it returns something; errors count as nothing."""
    end = time.monotonic() + DEADLINE
    while True:
        try:
            result = look()
        except (OSError, http.client.HTTPException):
            result = None
        if result:
            return result
        assert time.monotonic() < end, instead()
        time.sleep(0.02)
