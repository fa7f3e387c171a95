"""The test servers of networks behave as the tests that use them expect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.servers import ServerMissing, child, mastodon, pds
from tests.servers.child import ChildServer
from tests.servers.mastodon import MastodonServer
from tests.servers.pds import PdsServer

ROOT = Path(__file__).parents[2]
SERVERS = [PdsServer, MastodonServer]

RUN_THAT_WAITS = """
import sys
from tests.servers.{module} import {name}
with {name}() as server:
    print(server._process.pid, server.directory, flush=True)
    sys.stdin.read()
"""


def make(kind: type[ChildServer]) -> ChildServer:
    try:
        return kind()
    except ServerMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
def test_the_server_listens_locally_and_removes_its_files(kind: type[ChildServer]) -> None:
    with make(kind) as server:
        assert server._process is not None
        process = psutil.Process(server._process.pid)
        everybody = [process, *process.children(recursive=True)]
        open_at = [it.laddr for one in everybody for it in one.net_connections() if it.status == psutil.CONN_LISTEN]
        assert {address.ip for address in open_at} == {"127.0.0.1"}
        assert server.port in {address.port for address in open_at}
    assert not any(one.is_running() for one in everybody)
    assert not server.directory.exists()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform != "linux", reason="a parent-death signal needs Linux")
@pytest.mark.parametrize("kind", SERVERS)
def test_killed_test_run_ends_its_server(kind: type[ChildServer]) -> None:
    make(kind).__exit__()
    program = RUN_THAT_WAITS.format(module=kind.__module__.rpartition(".")[2], name=kind.__name__)
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        pid, directory = run.stdout.readline().split()
        server = psutil.Process(int(pid))
        run.send_signal(signal.SIGKILL)
    try:
        psutil.wait_procs([server], timeout=10)
        assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    finally:
        subprocess.run(["rm", "-rf", directory], check=True)


@pytest.mark.parametrize("module", [pds, mastodon])
def test_a_missing_server_is_explained_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: object
) -> None:
    monkeypatch.setattr(child, "BUILD", tmp_path)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    with pytest.raises(ServerMissing, match="make servers"):
        module.find_program()  # type: ignore[attr-defined]
