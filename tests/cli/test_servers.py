"""Commands that ask a server: which server, which key, and the errors."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postino.cli.connection import Target
from postino.cli.events import format_event
from tests.api.processes import Server
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.processes import Command

LOCAL = [["migrate"], ["up"], ["server"], ["worker"], ["sandbox"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server") / "data") as server:
        yield server


@pytest.fixture
def key(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    key = (server.folder / "api.key").read_text().strip()
    monkeypatch.setenv("POSTINO_API_KEY", key)
    return key


@pytest.mark.usefixtures("key")
def test_server_option_ignores_local_database(server: Server, folder: Path, postino: Postino) -> None:
    there = LocalQueue(server.folder).enqueue("letter")
    for given in (["--server", server.ready["url"]], ["--server", server.ready["url"] + "/"]):
        shown = postino("jobs", "show", there.id, *given, "--json")
        assert (shown.code, shown.json["type"]) == (0, "letter")
    assert not folder.exists()
    assert postino("jobs", "show", there.id).code == 5


def test_options_override_environment(
    server: Server, key: str, folder: Path, local_queue: LocalQueue, postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = local_queue.enqueue("letter")
    monkeypatch.setenv("POSTINO_SERVER", server.ready["url"])
    assert postino("jobs", "show", here.id).code == 3
    assert postino("jobs", "show", here.id, "--data-dir", folder).code == 0
    both = postino("jobs", "list", "--data-dir", folder, "--server", server.ready["url"], "--json")
    assert (both.code, both.error["field"]) == (2, "server")
    assert "Use either --server, or --data-dir and --database-url." in both.error["message"]


def test_key_file_is_used_and_never_shown(
    server: Server, key: str, tmp_path: Path, postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTINO_API_KEY")
    url = server.ready["url"]
    (tmp_path / "key").write_text(f"{key}\n")
    paused = postino("queues", "pause", "low", "--server", url, "--api-key-file", "key")
    assert paused.code == 0
    assert f"queues resume low --server {url} --api-key-file key" in paused.out
    undo = shlex.split(paused.out.partition("postino queues ")[2])
    assert postino("queues", *undo).code == 0
    wrong = [["--api-key-file", "nowhere"], ["--api-key-file", "empty"], []]
    (tmp_path / "empty").touch()
    results = ["nowhere cannot be read", "empty is empty", "POSTINO_API_KEY, or pass --api-key-file"]
    for options, words in zip(wrong, results, strict=True):
        refused = postino("jobs", "list", "--server", url, *options)
        assert (refused.code, words in refused.err) == (2, True), refused
    (tmp_path / "key").write_text("postino_nobodys")
    refused = postino("jobs", "list", "--server", url, "--api-key-file", "key", "--json")
    assert (refused.code, refused.error["type"]) == (1, "not_allowed")
    assert "The API key is invalid" in refused.error["message"]
    assert not any(key in text or "nobodys" in text for text in (paused.out, refused.err))


@pytest.mark.usefixtures("key")
def test_viewer_cannot_change_anything(server: Server, postino: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    there = ("--server", server.ready["url"])
    monkeypatch.setenv("POSTINO_API_KEY", postino("keys", "add", "page", "--role", "viewer", *there).out)
    assert postino("posts", "list", *there).code == 0
    refused = postino("queues", "pause", "--all", *there)
    assert (refused.code, refused.err) == (
        1,
        "This needs the role editor, and you have the role viewer. Nothing was changed.\n",
    )


def test_local_commands_are_suggested_without_server() -> None:
    there = Target(server="http://127.0.0.1:8700")
    assert there.format_command("worker").endswith("postino worker")
    assert there.format_command("jobs list").endswith("postino jobs list --server http://127.0.0.1:8700")


@pytest.mark.usefixtures("key")
def test_unreachable_server_is_exit_code_5(postino: Postino) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        url = f"http://127.0.0.1:{busy.getsockname()[1]}"
    refused = postino("queues", "pause", "--all", "--server", url, "--json")
    assert (refused.code, refused.error["type"]) == (5, "api_unavailable")
    assert refused.error["message"].startswith(f"{url} did not respond")
    assert postino("jobs", "list", "--server", "nowhere").code == 2


@pytest.mark.parametrize("words", LOCAL)
def test_local_commands_reject_server(
    words: list[str], postino: Postino, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    typed = postino(*words, "--server", "http://127.0.0.1:1")
    assert (typed.code, "needs a database on this machine" in typed.err) == (2, True)
    monkeypatch.setenv("POSTINO_SERVER", "http://127.0.0.1:1")
    meant = postino(*words)
    assert (meant.code, "POSTINO_SERVER names a server" in meant.err) == (2, True)
    assert not folder.exists()


@pytest.mark.usefixtures("key")
def test_events_need_a_server(server: Server, local_queue: LocalQueue, postino: Postino) -> None:
    refused = postino("events")
    assert (refused.code, "with --server URL" in refused.err) == (2, True)
    wrong = postino("events", "--type", "nothing.such", "--server", server.ready["url"])
    assert (wrong.code, "nothing.such" in wrong.err) == (2, True)


@pytest.mark.usefixtures("key")
def test_events_are_printed_as_they_happen(server: Server, postino: Postino, tmp_path: Path) -> None:
    there = ("--server", server.ready["url"])
    assert postino("queues", "pause", "--brand", "noisy", *there).code == 0
    with Command("events", *there, "--after", "0-0", "--type", "gate.paused", "--json", folder=tmp_path) as command:
        body = json.loads(command.wait_for("noisy"))
        assert (body["type"], body["data"]["name"]) == ("gate.paused", "noisy")


CLAIMED = {
    "id": "0-7", "type": "job.claimed", "at": "2035-06-01T12:00:00Z", "job_id": None, "brand": None,
    "data": {"worker": "w", "jobs": ["a", "b"]},
}  # fmt: skip
ENDED = {
    "id": "0-8", "type": "job.failed", "at": "2035-06-01T12:00:01Z", "job_id": "a", "brand": "acme",
    "data": {"channel": "bluesky", "remote_id": None, "error": "No.\nNever."},
}  # fmt: skip


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (CLAIMED, "2035-06-01T12:00:00Z  0-7  job.claimed  a b  -  worker=w"),
        (ENDED, "2035-06-01T12:00:01Z  0-8  job.failed  a  acme  channel=bluesky error=No. Never."),
    ],
)
def test_format_event(event: dict[str, Any], message: str) -> None:
    assert format_event(event) == message


@pytest.mark.usefixtures("key")
def test_lost_event_stream_suggests_resume_command(postino: Postino) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    answer = postino("events", "--server", url, "--after", "0-9")
    assert answer.code == 5
    assert answer.err.startswith(f"Waiting for events of {url}. Press Ctrl-C to stop.")
    assert f"events --after 0-9 --server {url}` to continue when the server is back." in answer.err
    assert "Nothing was changed" not in answer.err


def test_missing_database_suggests_up_and_migrate(postino: Postino, folder: Path) -> None:
    answer = postino("posts", "list")
    assert answer.code == 5
    for words in ("up` to create it and start everything", "migrate` to create only the database", "POSTINO_SERVER"):
        assert words in answer.err
    assert not folder.exists()


def test_usage_errors_are_sentences(postino: Postino) -> None:
    answer = postino("server", "--port", "abc")
    assert (answer.code, "expected a whole number. Run `postino server --help`" in answer.err) == (2, True), answer.err
