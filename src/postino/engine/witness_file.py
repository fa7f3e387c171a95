"""The witness file: what this process sent and saw, kept outside the database and outside the data directory.

A database that was restored does not know what was sent since. The file does: the process writes each intent to it
after the commit and before the call. Calls block; run them in a thread. Every failure to write raises
WitnessUnavailable. A file that cannot be read is passed over and never overwritten.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from postino.engine.witness_records import (
    CELL,
    SEAL,
    SentIntent,
    WitnessContents,
    WitnessHeader,
    decode_header,
    decode_ring,
    encode_header,
    encode_record,
    seal,
    unseal,
)
from postino.errors import PostinoError

HEADER = 65_536  # bytes; there are two, written by turns, so that a torn write leaves the other
CELLS = 4096
RING_START = 2 * HEADER
FILE_SIZE = RING_START + CELLS * CELL
MAX_SLOTS = 1000
INSTALLATION = re.compile("[0-9a-zA-Z_-]{1,40}", re.ASCII)
HEADER_OWNER = "header"  # in the seal of a header, which is read before the witness is known
sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class WitnessUnavailable(PostinoError):
    """The witness file cannot be used: the disk is full or read-only, or there is no state directory."""


class WitnessUnreadable(WitnessUnavailable):
    """There is something else in the place of the witness file, or the file is damaged."""


def choose_state_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory for state that no backup of the database contains."""
    if chosen := environment.get("POSTINO_STATE_DIR"):
        return Path(chosen).expanduser().absolute()
    if by_systemd := environment.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(by_systemd)
    base = Path(environment.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / "postino"
    try:
        return Path(environment.get("HOME") or Path.home()) / ".local" / "state" / "postino"
    except RuntimeError as error:
        raise WitnessUnavailable(f"There is no state directory: {error} Set POSTINO_STATE_DIR.") from error


def find_folder(state_dir: Path, installation: str) -> Path:
    """Return the folder of an installation. The database has its name, and whoever writes there must choose no path."""
    is_name = INSTALLATION.fullmatch(installation)
    digest = hashlib.sha256(installation.encode("utf-8", "replace")).hexdigest()
    return state_dir / "witness" / (installation if is_name else digest)


class WitnessFile:
    """One slot of an installation, locked by this process. `open` creates a slot if it can use no other."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.slot = int(path.name)
        self.witness: str | None = None
        self.revision = 0
        self.sequence = 0

    @classmethod
    def open(cls, state_dir: Path, installation: str, witness: str | None = None) -> "WitnessFile":
        """Return the first file that this process can use: a new one or one of this witness, if there is one."""
        folder = find_folder(state_dir, installation)
        with convert_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for slot in range(MAX_SLOTS):
                file = cls.take(folder / str(slot))
                if file is not None and witness is not None and file.witness not in (None, witness):
                    file.close()
                elif file is not None:
                    return file
        raise WitnessUnavailable(f"This process can use none of the {MAX_SLOTS} witness files in {folder}.")

    @classmethod
    def take(cls, path: Path) -> "WitnessFile | None":
        """Lock a file and return it; None if another process has locked it, or this one cannot read or write it."""
        try:
            descriptor = lock_file(path)
        except OSError:
            if not os.path.lexists(path):
                raise  # the next slot cannot be created either
            return None
        if descriptor is None:
            return None
        try:
            return cls.load(path, descriptor)
        except WitnessUnreadable:
            return None

    @classmethod
    def load(cls, path: Path, descriptor: int) -> "WitnessFile":
        """Return the locked file, ready to be continued."""
        try:
            file = cls(path, descriptor)
            file.read()
            for folder in path.parents[:3]:  # of the file, of the installation, of all witnesses
                sync_folder(folder)
        except BaseException:
            os.close(descriptor)
            raise
        return file

    def read(self) -> WitnessContents:
        """Return what the file says, and continue after it."""
        revision, contents = read_descriptor(self.descriptor, self.path)
        self.revision = revision
        self.witness = contents.header.witness if contents.header else None
        self.sequence = contents.sealed[-1].sequence if contents.sealed else 0
        return contents

    def write_header(self, header: WitnessHeader) -> None:
        """Write the header to disk. With another witness than before, the ring begins anew."""
        text = encode_header(header)
        if len(text) > HEADER - SEAL.size:
            raise WitnessUnavailable(f"{self.path}: {len(header.counts)} witnesses are more than it can hold.")
        self.check_linked()
        block = seal(HEADER_OWNER, self.revision + 1, 0, text)
        with convert_errors(self.path):
            write_all(self.descriptor, block, (self.revision + 1) % 2 * HEADER)
            sync(self.descriptor)
        self.revision += 1
        if header.witness != self.witness:
            self.witness, self.sequence = header.witness, 0

    def append(self, witness: str, records: Sequence[SentIntent]) -> None:
        """Write intents of batches of this witness to disk. If it fails, their batches count as incomplete."""
        if witness != self.witness:
            raise WitnessUnavailable(f"The witness file {self.path} has no header of this process yet.")
        self.check_linked()
        sizes = {record.n: sum(other.n == record.n for other in records) for record in records}
        cells = []
        for sequence, record in enumerate(records, start=self.sequence + 1):
            text = encode_record(record)
            if text is None:
                raise WitnessUnavailable(f"{self.path}: step {record.step[:40]!r} has too long a name to be recorded.")
            cells.append(seal(witness, sequence, sizes[record.n], text).ljust(CELL, b"\0"))
        with convert_errors(self.path):
            self.allocate_ring()
            for place, block in join_cells(self.sequence + 1, cells):
                write_all(self.descriptor, block, RING_START + place * CELL)
            sync(self.descriptor)
        self.sequence += len(records)

    def allocate_ring(self) -> None:
        """Fill the ring with zeros once, so that later writes need no new space and no change of the file's size."""
        size = os.fstat(self.descriptor).st_size
        if size < FILE_SIZE:
            write_all(self.descriptor, bytes(FILE_SIZE - size), size)

    def is_deleted(self) -> bool:
        """Return whether the file has no name any more, so that no later process can read it."""
        return os.fstat(self.descriptor).st_nlink == 0

    def check_linked(self) -> None:
        if self.is_deleted():
            raise WitnessUnavailable(f"The witness file {self.path} was deleted.")

    def close(self) -> None:
        os.close(self.descriptor)


def read_all(state_dir: Path, installation: str) -> list[WitnessContents]:
    """Return what the files of all slots say, also of those that other processes are writing to."""
    folder = find_folder(state_dir, installation)
    with convert_errors(folder):
        if not folder.exists():
            return []
        slots = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
    return [read_path(folder / str(slot)) for slot in slots]


def read_headers(state_dir: Path) -> list[WitnessContents]:
    """Return the headers of the files of all installations."""
    folder = state_dir / "witness"
    with convert_errors(folder):
        paths = sorted(path for path in folder.glob("*/*") if path.name.isdecimal())
    return [read_path(path, is_header_enough=True) for path in paths]


def read_path(path: Path, *, is_header_enough: bool = False) -> WitnessContents:
    """Return what a file says, or why it cannot be read."""
    try:
        with convert_errors(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for its writer
        try:
            return read_descriptor(descriptor, path, is_header_enough=is_header_enough)[1]
        finally:
            os.close(descriptor)
    except WitnessUnavailable as error:
        return WitnessContents(slot=int(path.name), trouble=str(error))


def read_descriptor(descriptor: int, path: Path, *, is_header_enough: bool = False) -> tuple[int, WitnessContents]:
    """Return the revision of the newest whole header, and the contents. Raises WitnessUnreadable."""
    slot = int(path.name)
    try:
        revision, header = read_header(descriptor)
        if header is None:
            check_empty(descriptor, path)
            return 0, WitnessContents(slot=slot)
        if is_header_enough:
            return revision, WitnessContents(slot=slot, header=header)
        ring = read_ring(descriptor)
        cells = [ring[place * CELL : (place + 1) * CELL] for place in range(CELLS)]
        return revision, WitnessContents(slot=slot, header=header, sealed=decode_ring(header.witness, cells))
    except OSError as error:
        raise WitnessUnreadable(describe_error(path, error)) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise WitnessUnreadable(
            f"Another release of Postino has written the witness file {path}: {error!r}."
        ) from error


def read_header(descriptor: int) -> tuple[int, WitnessHeader | None]:
    """Return the revision of the newest whole header, and this header."""
    headers = [unseal(HEADER_OWNER, os.pread(descriptor, HEADER, place * HEADER)) for place in (0, 1)]
    revision, _, text = max((header for header in headers if header), default=(0, 0, b""))
    return (revision, decode_header(text)) if text else (0, None)


def check_empty(descriptor: int, path: Path) -> None:
    """Raise WitnessUnreadable unless nothing was ever written to this file without a header."""
    offset = 0
    while offset < FILE_SIZE and (part := os.pread(descriptor, HEADER, offset)):  # a device may have no end
        if part.strip(b"\0"):
            raise WitnessUnreadable(
                f"The file {path} is damaged, or no witness file. If you do not need it, delete it."
            )
        offset += len(part)


def read_ring(descriptor: int) -> bytes:
    parts = []
    offset = RING_START
    while part := os.pread(descriptor, FILE_SIZE - offset, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def lock_file(path: Path) -> int | None:
    """Open and lock the file, creating it if it does not exist; return None if another process has locked it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def join_cells(sequence: int, cells: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the cells as contiguous blocks with their places: the ring begins anew after its last cell."""
    while cells:
        place = sequence % CELLS
        count = min(len(cells), CELLS - place)
        yield place, b"".join(cells[:count])
        sequence, cells = sequence + count, cells[count:]


def write_all(descriptor: int, block: bytes, offset: int) -> None:
    view = memoryview(block)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count


@contextmanager
def convert_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors into Postino's."""
    try:
        yield
    except OSError as error:
        raise WitnessUnavailable(describe_error(path, error)) from error


def describe_error(path: Path, error: OSError) -> str:
    """Say why a file cannot be used."""
    return f"The witness file {path} cannot be used: {error.strerror or error}."
