"""`postino up`, killed in every way: accepted posts are published once."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import psutil
import pytest

from postino import Postino
from postino.config import load_config
from tests.api.processes import DEADLINE, Client, Server, Up, eventually, make_environment

pytestmark = pytest.mark.slow
BLUESKY, MASTODON, TELEGRAM = "bluesky:postcard.test", "mastodon:postcard", "telegram:postcard"


def test_up_prints_its_urls_and_publishes_a_post_once(folder: Path) -> None:
    with Up(folder) as up:
        assert list(up.ready) == ["url", "dashboard_url", "api_key", "sandbox_url"]
        assert up.ready["dashboard_url"] == f"{up.ready['url']}/#key={up.ready['api_key']}"
        for name in ("api.key", "postino.db", "sandbox.db"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        accounts = up.api.get("/v1/accounts")["data"]
        assert [account["id"] for account in accounts][:1] == [BLUESKY]
        made = up.post("Hello", accounts[0]["id"])
        result = up.wait_for_status(made["id"])
        [entry] = up.list_published()
        assert (entry["text"], entry["network"], entry["remote_id"]) == ("Hello", "bluesky", result["remote_id"])
        second = start_refused("up", "--data-dir", str(folder), "--port", "0", "--json")
        assert (second.returncode, second.stdout) == (4, "")
        assert f"Postino already runs on {folder} (process {up.process.pid})" in second.stderr
        log = up.interrupt()
    assert up.ready["api_key"] not in log
    assert "Traceback" not in log


SHOP = """
from postino import Postino

app = Postino()

@app.handler("report")
async def report(job):
    pass
"""


def test_up_starts_beside_jobs_without_a_handler_and_runs_those_of_its_app(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "little_shop.py").write_text(SHOP)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    unknown = asyncio.run(leave_job(folder, "unknown"))
    refused = start_refused("up", "--data-dir", str(folder), "--port", "0", "--json", "--app", "no_shop:app")
    assert (refused.returncode, refused.stdout) == (2, "")
    with Up(folder, "--app", "little_shop:app", PYTHONPATH=path) as up:
        report, other = (up.api.ask("POST", "/v1/jobs", {"type": type_}).json for type_ in ("report", "other"))
        assert other["notes"] == ["No running worker handles jobs of type other. The job waits until one starts."]
        assert report["notes"] == []
        eventually(lambda: up.api.get(f"/v1/jobs/{report['id']}")["state"] == "completed")
        explanation = up.api.get(f"/v1/jobs/{unknown}/explain")
        assert [blocker["kind"] for blocker in explanation["blockers"]] == ["no_handler"]
        assert up.api.get(f"/v1/jobs/{unknown}")["attempts"] == 0
        workers = up.api.get("/v1/workers")
        assert workers["data"][0]["types"] == ["postino.post", "report"]
        assert workers["types_without_handler"] == ["other", "unknown"]
        assert up.api.get("/health/ready")["job_types_without_handler"] == 2
        up.interrupt()


async def leave_job(folder: Path, type_: str) -> UUID:
    """Enqueue a job on a new database; return its id."""
    app = Postino(load_config(folder, environment={}))
    await app.store.migrate()
    async with app:
        return (await app.enqueue(type_)).id


def test_up_says_that_the_database_is_closed(folder: Path) -> None:
    with Up(folder) as up:
        eventually(lambda: up.api.get("/v1/database")["alive_at"])
        answer = {"answer": "copy", "reason": "a staging clone"}
        assert up.api.ask("POST", "/v1/database/accept", answer).status == 200
        assert up.process.stderr is not None
        notice = next(line for line in up.process.stderr if line.startswith("Nothing is sent from this database."))
    assert f"database accept restored --reason WHY --data-dir {folder}`" in notice


def start_refused(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "postino", *words]
    return subprocess.run(
        command, env=make_environment(), capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@pytest.mark.parametrize("command", ["up", "server", "sandbox"])
def test_taken_port_is_reported(folder: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = start_refused(command, "--data-dir", str(folder), "--port", str(port))
    assert (result.returncode, result.stdout) == (4, "")
    assert f"Port {port} of 127.0.0.1 is in use by another process" in result.stderr
    assert "Traceback" not in result.stderr


def test_printed_commands_work(folder: Path) -> None:
    command = [sys.executable, "-m", "postino", "up", "--data-dir", str(folder), "--port", "0"]
    settings = make_environment() | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": settings}
    ours, theirs = pty.openpty()  # only a terminal shows the key
    in_terminal = settings | {"COLUMNS": "500", "NO_COLOR": "1", "TERM": "dumb"}
    with (
        subprocess.Popen(command, start_new_session=True, stdout=theirs, env=in_terminal) as up,
        os.fdopen(ours, encoding="utf-8") as terminal,
    ):
        os.close(theirs)
        try:
            results = [*iter(lambda: read_line(terminal), LAST)]
            assert get_cpu_seconds(up.pid) < 10, "seconds from nothing, if it had one core to itself"
            check_links(results)
            start = results.index("Try this in another terminal and watch the feed:") + 1
            commands = [line for line in results[start:] if line]
            assert len(commands) == 3
            done = [subprocess.run(it, shell=True, timeout=DEADLINE, check=True, **streams) for it in commands]
            assert "published" in done[0].stdout
            assert json.loads(done[1].stdout)["network"] == "mastodon"
            assert "Hello from Postino" in done[2].stdout
            assert "Hello from the API" in done[2].stdout
            feed = Client(of(results, "Sandbox feed").rstrip("/"))
            wanted = {("bluesky", "Hello from Postino"), ("mastodon", "Hello from the API")}
            eventually(
                lambda: {(it["network"], it["text"]) for it in feed.get("/_sandbox/published")["data"]} == wanted
            )
        finally:
            os.killpg(up.pid, signal.SIGINT)
            assert up.wait(DEADLINE) == 0


LAST = "Press Ctrl-C to stop. Nothing is lost: `up` continues where it stopped."


def read_line(terminal: IO[str]) -> str:
    line = terminal.readline()
    assert line, "the command has ended"
    return line.strip()


def get_cpu_seconds(pid: int) -> float:
    """Seconds of a processor that it and its processes took: whatever else the machine does meanwhile."""
    up = psutil.Process(pid)
    return float(sum(sum(one.cpu_times()[:2]) for one in (up, *up.children(recursive=True))))


def of(value: list[str], name: str) -> str:
    [line] = [line for line in value if line.startswith(f"{name}  ")]
    return line.removeprefix(name).strip()


def check_links(value: list[str]) -> None:
    """Every link works; the sign-in link works once."""
    api = Client(of(value, "API").removesuffix("/v1"), {"Authorization": f"Bearer {of(value, 'API key')}"})
    assert api.get("/v1/me")["role"] == "owner"
    path = of(value, "Sign in").removeprefix(api.url)
    replies = [Client(api.url).ask("GET", path) for _ in range(2)]
    assert [reply.status for reply in replies] == [303, 401]
    browser = Client(api.url, {"Cookie": replies[0].headers["set-cookie"].partition(";")[0]})
    assert browser.get("/v1/me")["name"] == "user:owner"
    for address in (of(value, "Dashboard").partition("#")[0], of(value, "Sandbox feed")):
        assert Client(address.rstrip("/")).ask("GET", "/").status == 200


def soon() -> str:
    """Return a time after the kill: a post under way would wait for a minute, which tests/crash covers."""
    return (datetime.now(UTC) + timedelta(seconds=3)).isoformat()


def are_all_published(up: Up) -> bool:
    return all(post["status"] == "published" for post in up.api.get("/v1/posts")["data"])


@pytest.mark.crash
def test_post_is_published_once_after_any_kill(folder: Path) -> None:
    with Up(folder) as up:
        up.post("Killed as a whole", BLUESKY, MASTODON, at=soon())
        up.kill_group()
    with Up(folder) as up:
        children = up.children()
        assert {word for child in children for word in child.cmdline()} > {"sandbox", "server", "worker"}
        eventually(lambda: len(up.texts()) == 2 and are_all_published(up), up.texts)
        up.post("Killed alone, and its processes end with it", BLUESKY, MASTODON, at=soon())
        up.process.kill()
        up.end()
        assert psutil.wait_procs(children, DEADLINE)[1] == []
    with Up(folder) as up:
        eventually(lambda: are_all_published(up), up.texts)
        assert sorted(up.texts()) == ["Killed alone, and its processes end with it"] * 2 + ["Killed as a whole"] * 2


def test_restart_keeps_the_key_the_sandbox_and_all_data(folder: Path) -> None:
    with Up(folder, "--workers", "0") as up:
        waiting = up.post("Nobody is there to publish this", BLUESKY)
        up.interrupt()
    with Up(folder, "--workers", "2") as again:
        assert again.ready["api_key"] == up.ready["api_key"]
        assert again.ready["sandbox_url"] == up.ready["sandbox_url"]
        assert len(again.children("worker")) == 2
        again.wait_for_status(waiting["id"])
        assert len(again.api.get("/v1/accounts")["data"]) == len({*map(str, again.api.get("/v1/accounts")["data"])})
        assert again.texts() == ["Nobody is there to publish this"]
        again.interrupt()


@pytest.mark.crash
def test_killed_process_is_restarted_while_the_others_run(folder: Path) -> None:
    with Up(folder) as up:
        for kind in ("server", "sandbox", "worker"):
            [child] = up.children(kind)
            child.kill()
            child.wait(DEADLINE)
            eventually(lambda: up.api.get("/health/ready") and up.sandbox.get("/_sandbox/faults"))
            made = up.post(f"After the death of the {kind}", BLUESKY)
            up.wait_for_status(made["id"])
            assert up.children(kind)
        assert len(up.texts()) == 3
        result = up.interrupt()
    assert result.count('"event": "process.ended"') == 3


def test_port_of_the_sandbox_is_refused_after_the_end(folder: Path) -> None:
    with Up(folder, "--workers", "0") as up:
        media = [{"url": f"{up.ready['sandbox_url']}/_sandbox/media/sample.jpg"}]
        up.post("x", MASTODON, media=media, preview=True)
        up.kill_group()
    with socket.create_server(("127.0.0.1", int(up.ready["sandbox_url"].rpartition(":")[2]))) as stranger:
        stranger.setblocking(False)
        with Server(folder) as server:
            post = {"text": "x", "accounts": [MASTODON], "media": media}
            refused = server.api.ask("POST", "/v1/posts", post)
            assert (refused.status, "private network" in str(refused.json)) == (422, True)
            assert server.api.ask("POST", f"/v1/accounts/{MASTODON}/check").json["works"] is None
            assert server.api.ask("GET", "/v1/sandbox/faults").status == 503
        with pytest.raises(BlockingIOError):
            stranger.accept()


def test_interrupt_lets_requests_in_flight_finish(folder: Path) -> None:
    with Up(folder, POSTINO_PUBLISHING_TIMEOUT_FACTOR="1") as up:
        up.fault("telegram", "slow", params={"seconds": 1.5})
        made = up.post("Slowly", TELEGRAM)
        eventually(lambda: up.api.get(f"/v1/posts/{made['id']}")["intents"])
        up.interrupt()
    with Up(folder, "--workers", "0") as again:
        assert again.api.get(f"/v1/posts/{made['id']}")["status"] == "published"
        assert again.texts() == ["Slowly"]
