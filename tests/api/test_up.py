"""`postino up`, killed in every way: what was accepted goes out, once."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.api.household import DEADLINE, Up, eventually, surroundings

pytestmark = pytest.mark.slow
BLUESKY, MASTODON, TELEGRAM = "bluesky:postcard.test", "mastodon:postcard", "telegram:postcard"


def test_it_says_in_one_line_where_everything_is_and_a_post_goes_out_once(folder: Path) -> None:
    with Up(folder) as up:
        assert list(up.told) == ["url", "dashboard_url", "api_key", "sandbox_url"]
        assert up.told["dashboard_url"] == f"{up.told['url']}/#key={up.told['api_key']}"
        assert stat.S_IMODE((folder / "api.key").stat().st_mode) == 0o600
        accounts = up.api.get("/v1/accounts")["data"]
        assert [account["id"] for account in accounts][:1] == [BLUESKY]
        made = up.post("Hello", accounts[0]["id"])
        told = up.settled(made["id"])
        [entry] = up.published()
        assert (entry["text"], entry["network"], entry["remote_id"]) == ("Hello", "bluesky", told["remote_id"])
        said = up.interrupt()
    assert up.told["api_key"] not in said
    assert "Traceback" not in said


@pytest.mark.crash
def test_killed_as_a_whole_right_after_it_answered_it_publishes_once_when_it_is_back(folder: Path) -> None:
    for number in range(3):
        with Up(folder) as up:
            up.post(f"Number {number}", BLUESKY, MASTODON)
            up.kill_group()
    with Up(folder) as up:
        eventually(lambda: all(post["status"] == "published" for post in up.api.get("/v1/posts")["data"]), up.texts)
        assert sorted(up.texts()) == ["Number 0"] * 2 + ["Number 1"] * 2 + ["Number 2"] * 2


def test_started_again_it_has_the_same_key_the_same_sandbox_and_everything_that_was_there(folder: Path) -> None:
    with Up(folder, "--workers", "0") as up:
        waiting = up.post("Nobody is there to publish this", BLUESKY)
        up.interrupt()
    with Up(folder, "--workers", "2") as again:
        assert again.told["api_key"] == up.told["api_key"]
        assert again.told["sandbox_url"] == up.told["sandbox_url"]
        assert len(again.children("worker")) == 2
        again.settled(waiting["id"])
        assert len(again.api.get("/v1/accounts")["data"]) == len({*map(str, again.api.get("/v1/accounts")["data"])})
        assert again.texts() == ["Nobody is there to publish this"]
        again.interrupt()


def test_a_second_one_on_the_same_data_is_refused_and_so_is_a_taken_port(folder: Path, tmp_path: Path) -> None:
    def refused(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "postino", "up", *words]
        settings = surroundings()
        return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=DEADLINE, check=False)

    with Up(folder) as up:
        second = refused("--data-dir", str(folder), "--port", "0", "--json")
        assert (second.returncode, second.stdout) == (4, "")
        assert f"already up on {folder} (process {up.process.pid})" in second.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        other = refused("--data-dir", str(tmp_path / "other"), "--port", str(port))
    assert (other.returncode, other.stdout) == (4, "")
    assert f"Port {port} of 127.0.0.1 is taken" in other.stderr


@pytest.mark.crash
def test_its_processes_end_when_it_is_killed(folder: Path) -> None:
    with Up(folder) as up:
        children = up.children()
        assert {word for child in children for word in child.cmdline()} > {"sandbox", "server", "worker"}
        assert all(child.pid != up.process.pid for child in children)
        up.process.kill()
        up.end()
        assert psutil.wait_procs(children, DEADLINE)[1] == []


@pytest.mark.crash
def test_a_process_that_is_killed_is_started_again_and_the_others_go_on_meanwhile(folder: Path) -> None:
    with Up(folder) as up:
        for kind in ("server", "sandbox", "worker"):
            [child] = up.children(kind)
            child.kill()
            child.wait(DEADLINE)
            eventually(lambda: up.api.get("/health/ready") and up.sandbox.get("/_sandbox/faults"))
            made = up.post(f"After the death of the {kind}", BLUESKY)
            up.settled(made["id"])
            assert up.children(kind)
        assert len(up.texts()) == 3
        said = up.interrupt()
    assert said.count('"event": "process.ended"') == 3


def test_interrupted_it_lets_what_is_on_its_way_arrive(folder: Path) -> None:
    with Up(folder, POSTINO_PUBLISHING_PATIENCE="1") as up:
        up.fault("telegram", "slow", params={"seconds": 1.5})
        made = up.post("Slowly", TELEGRAM)
        eventually(lambda: up.api.get(f"/v1/posts/{made['id']}")["intents"])
        up.interrupt()
    with Up(folder, "--workers", "0") as again:
        assert again.api.get(f"/v1/posts/{made['id']}")["status"] == "published"
        assert again.texts() == ["Slowly"]
