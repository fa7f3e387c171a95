"""A data directory that others can write, or that belongs to somebody else, is refused before Postino reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postino import data_dir
from postino.config import load_config
from postino.data_dir import FILES, describe_distrust
from postino.errors import ConfigError

ME, GROUP, OTHER = 1000, 1000, 4242


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "postino.toml").write_text('[networks]\nplugins = ["evil:Network"]\n')
    return folder


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702, 0o707])
def test_world_writable_directory_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(ConfigError, match=f"Other users can write {folder} .*`chmod go-w {folder}`"):
        load_config(folder, environment={})
    folder.chmod(0o755)
    assert load_config(folder, environment={}).networks.plugins == ["evil:Network"]


@pytest.mark.parametrize("name", FILES)
def test_world_writable_file_is_refused(folder: Path, name: str) -> None:
    path = folder / name
    path.touch()
    path.chmod(0o602)
    with pytest.raises(ConfigError, match=f"Other users can write {path}"):
        load_config(folder, environment={})


def make_status(uid: int, gid: int, mode: int) -> os.stat_result:
    return os.stat_result((0o040000 | mode, 1, 1, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("user", "status", "container", "trusted"),
    [
        (ME, make_status(ME, GROUP, 0o700), False, True),
        (ME, make_status(ME, GROUP, 0o775), False, True),  # with a group of their own
        (ME, make_status(ME, OTHER, 0o775), False, False),
        (ME, make_status(ME, 2000, 0o770), False, False),  # a group that several people are in
        (ME, make_status(0, 2000, 0o2775), False, True),  # a volume of Kubernetes, with fsGroup
        (ME, make_status(0, 0, 0o755), False, True),
        (ME, make_status(0, 0, 0o775), False, False),
        (ME, make_status(OTHER, GROUP, 0o755), False, False),
        (ME, make_status(OTHER, GROUP, 0o755), True, False),
        (0, make_status(ME, GROUP, 0o755), False, False),
        (0, make_status(ME, GROUP, 0o755), True, True),  # a bind mount
        (0, make_status(ME, GROUP, 0o757), True, False),
    ],
)
def test_owners_and_groups(
    monkeypatch: pytest.MonkeyPatch, user: int, status: os.stat_result, container: bool, trusted: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: user)
    monkeypatch.setattr(os, "getgroups", lambda: [user, 2000])
    monkeypatch.setattr(data_dir, "is_in_container", lambda: container)
    problem = describe_distrust(Path("/data"), status)
    assert (problem is None) is trusted, problem
    assert problem is None or "chmod" in problem or "chown" in problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_directory_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_dir, "is_in_container", lambda: False)
    os.chown(folder, OTHER, OTHER)
    with pytest.raises(ConfigError, match=f"{folder} belongs to user {OTHER}, and you are root"):
        load_config(folder, environment={})
    os.chown(folder, 0, 0)
    os.chown(folder / "postino.toml", OTHER, OTHER)
    with pytest.raises(ConfigError, match=r"postino\.toml belongs to"):
        load_config(folder, environment={})
