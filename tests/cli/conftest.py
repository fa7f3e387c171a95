"""Run commands in this process, or as real processes in test_worker and test_up.

Commands that work on a queue run twice: on its database, and over a server.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from postino.cli import main
from tests.cli.local_queue import CommandResult, LocalQueue
from tests.cli.threaded_server import ThreadedServer

Postino = Callable[..., CommandResult]
LOCAL_MODE, REMOTE_MODE = "local", "remote"
BOTH_MODES = {
    "test_jobs",
    "test_dead_letters",
    "test_queues",
    "test_circuits",
    "test_blackouts",
    "test_api_keys",
    "test_users",
    "test_accounts",
    "test_explain",
    "test_posts",
    "test_forecast",
    "test_import",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run cheap tests in both modes; not those that start processes, which take long."""
    cheap = metafunc.definition.get_closest_marker("slow") is None and "postino" in metafunc.fixturenames
    if metafunc.module.__name__.rpartition(".")[2] in BOTH_MODES and "local_queue" in metafunc.fixturenames and cheap:
        metafunc.parametrize("mode", [LOCAL_MODE, REMOTE_MODE], indirect=True)


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the environment of the test and restore the log configuration after it."""
    before = structlog.get_config()
    monkeypatch.setenv("POSTINO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("POSTINO_APP", raising=False)
    monkeypatch.delenv("POSTINO_DATABASE_URL", raising=False)
    monkeypatch.delenv("POSTINO_SERVER", raising=False)
    monkeypatch.delenv("POSTINO_API_KEY", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    structlog.configure(**before)


@pytest.fixture
def folder(tmp_path: Path, mode: str, request: pytest.FixtureRequest) -> Path:
    if mode == LOCAL_MODE:
        return tmp_path / "data"
    threaded_server: ThreadedServer = request.getfixturevalue("threaded_server")
    return threaded_server.empty()


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> str:
    mode: str = getattr(request, "param", LOCAL_MODE)
    return mode


@pytest.fixture
def actor(mode: str) -> str:
    """Return the actor in the audit trail."""
    return f"cli:{getpass.getuser()}" if mode == LOCAL_MODE else "api"


@pytest.fixture(scope="session")
def threaded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedServer]:
    with ThreadedServer(tmp_path_factory.mktemp("served")) as threaded_server:
        yield threaded_server


@pytest.fixture
def local_queue(
    folder: Path, mode: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalQueue]:
    local_queue = LocalQueue(folder)
    local_queue.perform(lambda app: app.store.gates())
    if mode == LOCAL_MODE:
        yield local_queue
        return
    threaded_server: ThreadedServer = request.getfixturevalue("threaded_server")
    monkeypatch.delenv("POSTINO_DATA_DIR")
    with threaded_server.open() as url:
        monkeypatch.setenv("POSTINO_SERVER", url)
        monkeypatch.setenv("POSTINO_API_KEY", (folder / "api.key").read_text())
        yield local_queue


@pytest.fixture
def postino(capsys: pytest.CaptureFixture[str]) -> Postino:
    def run(*arguments: object) -> CommandResult:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        result = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return CommandResult(end.value.code, result.out, result.err)

    return run
