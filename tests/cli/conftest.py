"""Commands run in this process where that is enough, and as real processes in test_worker and test_up.

Those about what is in a queue are tried twice: on its database, and over a server of it.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from postino.cli import main
from tests.cli.command_line import Answer, Desk
from tests.cli.served import Served

Postino = Callable[..., Answer]
HERE, SERVED = "here", "served"
BOTH_WAYS = {
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
    """Not what starts processes, which takes long: how answers look does not depend on where they come from."""
    cheap = metafunc.definition.get_closest_marker("slow") is None and "postino" in metafunc.fixturenames
    if metafunc.module.__name__.rpartition(".")[2] in BOTH_WAYS and "desk" in metafunc.fixturenames and cheap:
        metafunc.parametrize("way", [HERE, SERVED], indirect=True)


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The data directory of the test, its own folder, and logs as they were."""
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
def folder(tmp_path: Path, way: str, request: pytest.FixtureRequest) -> Path:
    if way == HERE:
        return tmp_path / "data"
    served: Served = request.getfixturevalue("served")
    return served.empty()


@pytest.fixture
def way(request: pytest.FixtureRequest) -> str:
    way: str = getattr(request, "param", HERE)
    return way


@pytest.fixture
def actor(way: str) -> str:
    """Who does it, in the audit trail."""
    return f"cli:{getpass.getuser()}" if way == HERE else "api"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def desk(folder: Path, way: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(folder)
    desk.perform(lambda app: app.store.gates())
    if way == HERE:
        yield desk
        return
    served: Served = request.getfixturevalue("served")
    monkeypatch.delenv("POSTINO_DATA_DIR")
    with served.open() as url:
        monkeypatch.setenv("POSTINO_SERVER", url)
        monkeypatch.setenv("POSTINO_API_KEY", (folder / "api.key").read_text())
        yield desk


@pytest.fixture
def postino(capsys: pytest.CaptureFixture[str]) -> Postino:
    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Answer(end.value.code, said.out, said.err)

    return run
