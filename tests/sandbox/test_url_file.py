"""The port of a sandbox is trusted only while the sandbox runs."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postino.config import Config, SandboxConfig
from postino.errors import Conflict
from postino.sandbox import url_file
from postino.sandbox.url_file import FILE, hold_url_file, is_stopped, read_last_url
from postino.values.provider import Unreachable
from postino.wiring import describe_unreachable, make_http_client_factory, make_media_url_check
from tests.outbound.raw_server import RawServer, polite

SOON = timedelta(seconds=5)
URL = "http://127.0.0.1:8701"
HOLDER = (
    "import sys, pathlib\n"
    "from postino.sandbox.url_file import hold_url_file\n"
    "with hold_url_file(pathlib.Path(sys.argv[1])) as store:\n"
    "    store(sys.argv[2]); print('ready', flush=True); sys.stdin.read()\n"
)


def test_sandbox_runs_while_its_file_is_locked(tmp_path: Path) -> None:
    assert (read_last_url(tmp_path), is_stopped(tmp_path, URL)) == ("", False), "another sandbox, by a setting"
    with hold_url_file(tmp_path) as store:
        assert is_stopped(tmp_path, URL) is False
        store(URL)
        assert (read_last_url(tmp_path), is_stopped(tmp_path, URL), is_stopped(tmp_path, f"{URL}/")) == (
            URL, False, False,
        )  # fmt: skip
    assert (read_last_url(tmp_path), is_stopped(tmp_path, URL)) == (URL, True)
    with hold_url_file(tmp_path) as store:
        assert (read_last_url(tmp_path), is_stopped(tmp_path, URL)) == (URL, True), "it does not listen yet"
        store(URL)
        assert not is_stopped(tmp_path, URL)
        assert not is_stopped(tmp_path, "http://10.0.0.7:8701"), "the sandbox of another machine"


def test_two_sandboxes_of_one_directory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_file, "MAX_WAIT", 0.1)
    with hold_url_file(tmp_path) as store:
        store(URL)
        with pytest.raises(Conflict, match="runs already"), hold_url_file(tmp_path):
            pass
        assert (read_last_url(tmp_path), is_stopped(tmp_path, URL)) == (URL, False)


def test_file_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(tmp_path / "other")
    with pytest.raises(OSError), hold_url_file(tmp_path):  # noqa: PT011 - ELOOP
        pass
    assert not (tmp_path / "other").exists()


async def test_port_of_a_killed_sandbox_is_not_connected_to(tmp_path: Path) -> None:
    async with RawServer(polite) as stranger:
        config = replace(Config(tmp_path), sandbox=SandboxConfig(stranger.url))
        sandbox = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, str(tmp_path), stranger.url, stdin=PIPE, stdout=PIPE
        )
        assert sandbox.stdout is not None
        assert await sandbox.stdout.readline() == b"ready\n"
        check_media = make_media_url_check(config)
        assert (check_media(f"{stranger.url}/a.jpg"), describe_unreachable(config, stranger.url)) == (None, None)
        async with make_http_client_factory(config)() as outbound:
            http = outbound.open(timeout=SOON, visible=False, secrets=(), may_send=lambda: None, public=True)
            assert (await http.request("GET", stranger.url)).ok
            assert stranger.connections == 1
            sandbox.send_signal(signal.SIGKILL)
            await sandbox.communicate()
            with pytest.raises(Unreachable, match="the sandbox does not run"):
                await http.request("GET", f"{stranger.url}/x")
            with pytest.raises(Unreachable, match="the sandbox does not run"):
                await http.fetch(f"{stranger.url}/a.jpg", most=100)
        assert stranger.connections == 1
        assert "private network" in (check_media(f"{stranger.url}/a.jpg") or "")
        assert "private network" in (describe_unreachable(config, stranger.url) or "")
