"""Commands run in this process where that is enough, and as real processes in test_worker and test_up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from postino.cli import main
from tests.cli.desk import Answer, Desk

Postino = Callable[..., Answer]


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The data directory of the test, its own folder, and logs as they were."""
    before = structlog.get_config()
    monkeypatch.setenv("POSTINO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("POSTINO_APP", raising=False)
    monkeypatch.delenv("POSTINO_DATABASE_URL", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    structlog.configure(**before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def desk(folder: Path) -> Desk:
    desk = Desk(folder)
    desk.perform(lambda app: app.store.gates())
    return desk


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
