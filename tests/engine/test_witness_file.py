"""The witness file: what was written is read again, whatever happens to the process, and damage is never believed."""

import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postino.engine import witness_file
from postino.engine.witness_file import (
    HEADER,
    HEADER_OWNER,
    RING_START,
    WitnessFile,
    WitnessUnavailable,
    choose_state_directory,
    read_all,
    read_headers,
    read_path,
)
from postino.engine.witness_records import CELL, seal
from postino.values.ledger import StepEntry
from tests.engine.witness_samples import CELLS, HERE, NOW, make_header, make_record, reaches_back


@pytest.fixture(autouse=True)
def small_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness_file, "CELLS", CELLS)
    monkeypatch.setattr(witness_file, "FILE_SIZE", RING_START + CELLS * CELL)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[WitnessFile]:
    file = WitnessFile.open(tmp_path, HERE)
    file.write_header(make_header())
    yield file
    file.close()


@pytest.mark.parametrize(
    "name", ["../outside", "../../outside", "/etc", ".", "..", "", "a/b", "\0", "\udcff", "a" * 999]
)
def test_name_from_the_database_leads_to_no_other_folder(tmp_path: Path, name: str) -> None:
    state_dir = tmp_path / "state"
    file = WitnessFile.open(state_dir, name)
    file.write_header(make_header())
    file.close()
    assert file.path.resolve().parent.parent == (state_dir / "witness").resolve()
    assert [contents.header for contents in read_all(state_dir, name)] == [make_header()]
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_records_and_header_are_read_as_they_were_written(tmp_path: Path, file: WitnessFile) -> None:
    step = StepEntry(name="upload", position=0, asked_at=NOW, done_at=NOW, result='{"id": "ü"}')
    unfinished = StepEntry(name="ready", position=1, asked_at=NOW)
    records = [make_record(1, account="x:acme", channel="x", steps=(step, unfinished)), make_record(1), make_record(2)]
    file.append("w1", records[:2])
    file.append("w1", records[2:])
    header = make_header(n=2, pulse=7, counts={"w1": 2, "w2": 9})
    file.write_header(header)
    [contents] = read_all(tmp_path, HERE)
    assert (contents.slot, contents.header, contents.records, contents.n) == (0, header, records, 2)
    assert contents == file.read()


def test_steps_that_do_not_fit_are_left_out(file: WitnessFile) -> None:
    step = StepEntry(name="upload", position=0, asked_at=NOW, done_at=NOW, result="x" * CELL)
    file.append("w1", [make_record(1, steps=(step,))])
    assert file.read().records == [make_record(1)]


def test_step_name_that_does_not_fit_is_refused(file: WitnessFile) -> None:
    with pytest.raises(WitnessUnavailable, match="too long a name"):
        file.append("w1", [make_record(1, step="x" * CELL)])


def test_full_ring_forgets_the_oldest_records(tmp_path: Path, file: WitnessFile) -> None:
    for n in range(1, 12):
        file.append("w1", [make_record(n)])
    file.append("w1", [make_record(12), make_record(12)])
    contents = file.read()
    assert [record.n for record in contents.records] == [6, 7, 8, 9, 10, 11, 12, 12]
    assert [n for n in range(13) if reaches_back(contents, n)] == [5, 6, 7, 8, 9, 10, 11, 12]


def test_batch_that_is_partly_overwritten_does_not_reach_back(file: WitnessFile) -> None:
    file.append("w1", [make_record(1)] * 3)
    file.append("w1", [make_record(2)] * 6)
    assert [reaches_back(file.read(), n) for n in (0, 1, 2)] == [False, True, True]


def test_batch_that_was_not_written_does_not_reach_back(file: WitnessFile) -> None:
    file.append("w1", [make_record(1)])
    file.append("w1", [make_record(3)])
    assert [reaches_back(file.read(), n) for n in (0, 1, 2, 3)] == [False, False, True, True]
    file.write_header(make_header(n=4))
    assert [reaches_back(file.read(), n) for n in (2, 3, 4)] == [False, False, True]


def test_reopened_file_continues_its_ring(tmp_path: Path) -> None:
    for n in range(1, 11):
        file = WitnessFile.open(tmp_path, HERE)
        file.write_header(make_header(pulse=n))
        file.append("w1", [make_record(n)])
        file.close()
    [contents] = read_all(tmp_path, HERE)
    assert [record.n for record in contents.records] == [3, 4, 5, 6, 7, 8, 9, 10]
    assert contents.header == make_header(pulse=10)


def test_new_witness_id_begins_a_new_ring(file: WitnessFile) -> None:
    file.append("w1", [make_record(1), make_record(1)])
    file.write_header(make_header(witness="w2"))
    assert file.read().records == []
    file.append("w2", [make_record(7)])
    assert file.read().records == [make_record(7)]


def test_records_of_another_id_than_that_of_the_header_are_refused(file: WitnessFile) -> None:
    with pytest.raises(WitnessUnavailable, match="no header of this process"):
        file.append("w2", [make_record(1)])


def test_file_that_replaces_a_deleted_one_overwrites_no_other(tmp_path: Path, file: WitnessFile) -> None:
    other = WitnessFile.open(tmp_path, HERE)
    other.write_header(make_header(witness="w2"))
    other.close()
    file.path.unlink()
    with pytest.raises(WitnessUnavailable, match="was deleted"):
        file.write_header(make_header())
    again = WitnessFile.open(tmp_path, HERE, "w1")
    assert (again.slot, again.witness) == (0, None)
    third = WitnessFile.open(tmp_path, HERE, "w1")
    assert (third.slot, third.witness) == (2, None)
    for opened in (again, third):
        opened.close()


def test_each_process_has_a_slot_of_its_own(tmp_path: Path, file: WitnessFile) -> None:
    other = WitnessFile.open(tmp_path, HERE)
    assert (file.slot, other.slot) == (0, 1)
    other.write_header(make_header(witness="w2"))
    assert [contents.header for contents in read_all(tmp_path, HERE)] == [make_header(), make_header(witness="w2")]
    other.close()
    again = WitnessFile.open(tmp_path, HERE)
    assert again.slot == 1
    again.close()
    assert read_all(tmp_path, "another installation") == []


def test_new_file_says_nothing(tmp_path: Path) -> None:
    file = WitnessFile.open(tmp_path, HERE)
    contents = file.read()
    assert (contents.header, contents.records, contents.n, reaches_back(contents, 0)) == (None, [], 0, True)
    assert read_all(tmp_path, HERE) == [contents]
    file.close()


def make_unreadable(path: Path, kind: str) -> None:
    """Put something else than a witness file in the place of one, or damage it."""
    match kind:
        case "directory":
            path.mkdir()
        case "symbolic link":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case "foreign":
            path.write_text("something else")
        case "truncated":
            path.write_bytes(seal(HEADER_OWNER, 2, 0, b"{" + b" " * 500 + b"}")[:100])
        case "another release":
            path.write_bytes(seal(HEADER_OWNER, 2, 0, b'{"era": 1}').ljust(HEADER, b"\0"))


UNREADABLE = ("directory", "symbolic link", "pipe", "foreign", "truncated", "another release")


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_slot_is_passed_over_and_left_alone(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "witness" / HERE
    folder.mkdir(parents=True)
    make_unreadable(folder / "0", kind)
    is_file = (folder / "0").is_file()
    before = (folder / "0").read_bytes() if is_file else b""
    file = WitnessFile.open(tmp_path, HERE)
    assert file.slot == 1
    file.write_header(make_header())
    unreadable, contents = read_all(tmp_path, HERE)
    assert (unreadable.slot, unreadable.header, contents.header) == (0, None, make_header())
    assert str(folder / "0") in str(unreadable.trouble)
    assert [it.header for it in read_headers(tmp_path)] == [None, make_header()]
    assert not is_file or (folder / "0").read_bytes() == before
    file.close()


def test_slot_without_permission_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WitnessFile.open(tmp_path, HERE).close()
    system_open = os.open

    def refuse(path: Path, *options: int) -> int:
        if Path(path).name == "0":
            raise PermissionError(13, "Permission denied", str(path))
        return system_open(path, *options)

    monkeypatch.setattr(os, "open", refuse)
    file = WitnessFile.open(tmp_path, HERE)
    file.write_header(make_header())
    unreadable, contents = read_all(tmp_path, HERE)
    assert (file.slot, contents.header) == (1, make_header())
    assert "Permission denied" in str(unreadable.trouble)
    file.close()


def test_files_are_private_to_their_owner(tmp_path: Path, file: WitnessFile) -> None:
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_ring_is_allocated_with_the_first_record(file: WitnessFile) -> None:
    assert file.path.stat().st_size <= RING_START
    file.append("w1", [make_record(1)])
    size = file.path.stat().st_size
    file.append("w1", [make_record(2)] * CELLS)
    assert file.path.stat().st_size == size == RING_START + CELLS * CELL


def test_torn_header_leaves_the_one_before(file: WitnessFile) -> None:
    file.write_header(make_header(pulse=2))
    torn = file.revision % 2 * HEADER
    os.pwrite(file.descriptor, b"\0" * 30, torn + 40)
    assert file.read().header == make_header()


@pytest.mark.parametrize("call", ["pwrite", "sync"])
def test_failed_write_is_one_error_and_the_file_recovers(
    file: WitnessFile, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file.append("w1", [make_record(1)])
    with monkeypatch.context() as patch:
        patch.setattr(os if call == "pwrite" else witness_file, call, fail)
        with pytest.raises(WitnessUnavailable, match="No space left on device"):
            file.append("w1", [make_record(2)])
        with pytest.raises(WitnessUnavailable):
            file.write_header(make_header(pulse=2))
    file.append("w1", [make_record(3)])
    file.write_header(make_header(pulse=3))
    contents = file.read()
    assert (contents.header, [record.n for record in contents.records]) == (make_header(pulse=3), [1, 3])
    assert not reaches_back(contents, 1)


def test_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(WitnessUnavailable, match="cannot be used"):
        WitnessFile.open(tmp_path / "state", HERE)


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"POSTINO_STATE_DIR": "/a", "STATE_DIRECTORY": "/b", "XDG_STATE_HOME": "/c", "HOME": "/d"}, "/a"),
        ({"STATE_DIRECTORY": "/b:/b2", "XDG_STATE_HOME": "/c", "HOME": "/d"}, "/b"),
        ({"XDG_STATE_HOME": "/c", "HOME": "/d"}, "/c/postino"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/d"}, "/d/.local/state/postino"),
        ({"POSTINO_STATE_DIR": "", "HOME": "/d"}, "/d/.local/state/postino"),
    ],
)
def test_state_directory_is_the_most_specific_one(environment: dict[str, str], directory: str) -> None:
    assert choose_state_directory(environment) == Path(directory)


damages = st.lists(
    st.one_of(
        st.tuples(st.just("cut"), st.integers(0, RING_START + CELLS * CELL)),
        st.tuples(st.just("flip"), st.integers(0, (CELLS * CELL) * 8 - 1)),
        st.tuples(st.just("flip header"), st.integers(0, 2000)),
        st.tuples(st.just("move"), st.integers(0, CELLS - 1)),
    ),
    min_size=1,
    max_size=6,
)


@given(batches=st.lists(st.integers(1, 4), max_size=6), damages=damages)
@settings(max_examples=100, deadline=None)
def test_damaged_file_never_yields_a_record_that_was_not_written(
    batches: list[int], damages: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(witness_file, "sync", lambda _: None)  # nobody cuts the power here
        patch.setattr(witness_file, "sync_folder", lambda _: None)
        file = WitnessFile.open(Path(folder), HERE)
        headers = [make_header(), make_header(pulse=2, counts={"w9": 3})]
        for header in headers:
            file.write_header(header)
        for n, size in enumerate(batches, start=1):
            file.append("w1", [make_record(n, number=number) for number in range(size)])
        before = file.read()
        damage_file(file.path, damages)
        after = read_path(file.path)
        assert after.header in (*headers, None)
        assert set(after.sealed) <= set(before.sealed)
        if before.n and reaches_back(after, 0) and after.n == before.n:
            assert after.sealed == before.sealed
        file.close()


def damage_file(path: Path, damages: list[tuple[str, int]]) -> None:
    with path.open("r+b") as stream:
        for kind, where in damages:
            if kind == "cut":
                stream.truncate(min(where, path.stat().st_size))
                continue
            start = {"flip": RING_START, "flip header": where % 2 * HEADER, "move": RING_START}[kind]
            if kind == "move":
                stream.seek(start + where * CELL)
                cell = stream.read(CELL)
                stream.seek(start + (where + 1) % CELLS * CELL)
                stream.write(cell)
                continue
            stream.seek(start + where // 8)
            byte = stream.read(1) or b"\0"
            stream.seek(start + where // 8)
            stream.write(bytes([byte[0] ^ (1 << where % 8)]))
            stream.flush()


@pytest.mark.crash
def test_killed_process_leaves_every_record_that_it_had_written(tmp_path: Path) -> None:
    last = 0
    for lines in (3, 20):
        command = [sys.executable, "-m", "tests.engine.witness_samples", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(lines):
                last = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            last = max([last, *(int(line) for line in process.stdout if line.endswith("\n"))])
        [contents] = read_all(tmp_path, HERE)
        assert contents.n in (last, last + 1)
        assert contents.header is not None
        assert contents.header.pulse in (last, last + 1)
        for record in contents.records:
            assert record == make_record(record.n, number=record.number)
        whole = dataclasses.replace(contents, sealed=tuple(it for it in contents.sealed if it.intent.n <= last))
        assert reaches_back(whole, last - 1)


def test_installations_do_not_share_files(tmp_path: Path) -> None:
    files = [WitnessFile.open(tmp_path, str(uuid4())) for _ in range(3)]
    assert [file.slot for file in files] == [0, 0, 0]
    for file in files:
        file.close()
