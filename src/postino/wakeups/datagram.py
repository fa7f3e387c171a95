"""Between processes on one SQLite file: each listener has a Unix datagram socket beside it."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from postino.wakeups.local import LocalWakeup

log = structlog.get_logger("postino.wakeup")
MOST_ADDRESS = 100


class DatagramWakeup(LocalWakeup):
    def __init__(self, database: Path) -> None:
        super().__init__()
        self.folder = database.with_name(database.name + "-wakeup")
        self.ear: socket.socket | None = None

    @property
    def own(self) -> Path:
        return self.folder / f"{os.getpid()}-{id(self):x}"

    def tell(self) -> None:
        self.nudge()
        try:
            self.tell_others()
        except OSError as error:  # out of descriptors, a folder that just went
            log.info("wakeup.failed", error=str(error), next="their polls find the work")

    def tell_others(self) -> None:
        others = [listener for listener in self.folder.glob("*") if listener != self.own]
        if others:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth, addresses(self.folder) as address:
                mouth.setblocking(False)
                for listener in others:
                    tell_one(mouth, listener, address(listener))

    async def listen(self) -> None:
        if self.ear is not None:
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ear.setblocking(False)
        try:
            with addresses(self.folder) as address:
                self.ear.bind(address(self.own))
        except OSError as error:  # a file system without sockets
            log.info("wakeup.deaf", error=str(error), next="work from other processes is found by polling")
            self.ear.close()
            self.ear = None
            return
        asyncio.get_running_loop().add_reader(self.ear, self.hear)

    def hear(self) -> None:
        assert self.ear is not None
        with contextlib.suppress(BlockingIOError):
            while self.ear.recv(16):
                pass
        self.nudge()

    async def close(self) -> None:
        if self.ear is not None:
            asyncio.get_running_loop().remove_reader(self.ear)
            self.ear.close()
            self.ear = None
            self.own.unlink(missing_ok=True)
        await super().close()


@contextmanager
def addresses(folder: Path) -> Iterator[Callable[[Path], str]]:
    """Addresses of the sockets in a folder. A socket's address has room for about a hundred bytes only, so that a
    longer path goes through the folder's descriptor where the system has such names."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    through = Path(f"/proc/self/fd/{descriptor}")

    def address(listener: Path) -> str:
        full = str(listener)
        return full if len(os.fsencode(full)) <= MOST_ADDRESS or not through.exists() else str(through / listener.name)

    try:
        yield address
    finally:
        os.close(descriptor)


def tell_one(mouth: socket.socket, listener: Path, address: str) -> None:
    try:
        mouth.sendto(b"!", address)
    except BlockingIOError:
        pass  # it has unread hints already
    except (ConnectionRefusedError, FileNotFoundError):
        listener.unlink(missing_ok=True)  # nobody behind it any more
    except OSError as error:
        log.info("wakeup.failed", listener=listener.name, error=str(error), next="its poll finds the work")
