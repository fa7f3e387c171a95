"""vault.key: whole or not at all, its owner's alone, and never replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from postino.vault.key_file import KeyFileRefused, add_key, compute_key_id, read_or_create

PROGRAM = """
import sys
from pathlib import Path
from postino.vault.key_file import add_key, compute_key_id, read_or_create
act = {"create": read_or_create, "add": add_key}[sys.argv[1]]
print(compute_key_id(act(Path(sys.argv[2]))[-1]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.key"


def at_once(act: str, path: Path, count: int) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, act, str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    answers = [process.communicate()[0].strip() for process in running]
    assert all(process.returncode == 0 for process in running)
    return answers


def test_key_file_is_private_with_any_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        read_or_create(path)
        add_key(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["vault.key"]


def test_key_file_is_read_as_written(path: Path) -> None:
    made = read_or_create(path)
    assert [len(key) for key in made] == [32]
    assert read_or_create(path) == made
    assert add_key(path)[:-1] == made
    assert len(set(add_key(path))) == 3
    assert read_or_create(path)[:1] == made


def test_concurrent_creation_yields_one_key(path: Path) -> None:
    assert len(set(at_once("create", path, 4))) == 1


def test_concurrently_added_keys_are_all_kept(path: Path) -> None:
    first = compute_key_id(read_or_create(path)[0])
    added = at_once("add", path, 4)
    assert {compute_key_id(key) for key in read_or_create(path)} == {first, *added}
    assert len(set(added)) == 4


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o666])
def test_key_file_accessible_to_others_is_refused(path: Path, mode: int) -> None:
    read_or_create(path)
    path.chmod(mode)
    with pytest.raises(KeyFileRefused, match=rf"mode {mode:04o}.*chmod 600") as refused:
        read_or_create(path)
    assert str(path) in str(refused.value)
    path.chmod(0o400)
    read_or_create(path)


def in_pieces(content: str) -> str:
    return content[: len(content) // 2]


def with_another_letter(content: str) -> str:
    return content[:-6] + ("A" if content[-6] != "A" else "B") + content[-5:]


@pytest.mark.parametrize(
    "damage",
    [
        in_pieces,
        with_another_letter,
        lambda content: "",
        lambda content: "\n",
        lambda content: content.replace("postino vault 1\n", ""),
        lambda content: content + "something else\n",
        lambda content: content.replace("=\n", "\n"),
        lambda content: content + "è",
    ],
)
def test_damaged_key_file_is_refused_and_unchanged(path: Path, damage: Callable[[str], str]) -> None:
    read_or_create(path)
    secret = path.read_text().split()[-1]
    damaged = damage(path.read_text())
    path.write_text(damaged)
    for act in (read_or_create, add_key):
        with pytest.raises(KeyFileRefused, match=r"is damaged.*backup") as refused:
            act(path)
        assert secret[:20] not in str(refused.value)
    assert path.read_text() == damaged


def test_key_file_of_a_newer_version_is_refused(path: Path) -> None:
    read_or_create(path)
    path.write_text(path.read_text().replace("vault 1", "vault 2"))
    with pytest.raises(KeyFileRefused, match="newer Postino"):
        read_or_create(path)


def test_dangling_link_is_not_replaced_by_a_new_key(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))
    for act in (read_or_create, add_key):
        with pytest.raises(KeyFileRefused, match="creates no new key"):
            act(path)
    assert path.is_symlink()
    with pytest.raises(KeyFileRefused, match="is missing"):
        add_key(path.with_name("nothing"))


def test_adding_a_key_changes_the_file_behind_a_link(path: Path) -> None:
    real = path.with_name("elsewhere")
    read_or_create(real)
    path.symlink_to(real)
    added = add_key(path)
    assert path.is_symlink()
    assert read_or_create(real) == read_or_create(path) == added


def test_path_that_is_no_file_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyFileRefused, match="is not a file"):
        read_or_create(path)
    os.mkfifo(path.with_name("fifo"), 0o600)
    with pytest.raises(KeyFileRefused, match="is not a file"):
        read_or_create(path.with_name("fifo"))
    with pytest.raises(KeyFileRefused, match="cannot be used: File exists"):
        read_or_create(Path(__file__) / "vault.key")
