"""Wake-ups between processes on one SQLite file: each listener has a Unix datagram socket in a folder beside it."""

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
MAX_ADDRESS = 100  # bytes


class DatagramWakeup(LocalWakeup):
    def __init__(self, database: Path) -> None:
        super().__init__()
        self.folder = database.with_name(database.name + "-wakeup")
        self.receiver: socket.socket | None = None

    @property
    def path(self) -> Path:
        return self.folder / f"{os.getpid()}-{id(self):x}"

    def notify(self) -> None:
        self.notify_local()
        try:
            self.notify_others()
        except OSError as error:  # no file descriptors left, or the folder was just deleted
            log.info("wakeup.failed", error=str(error), next="the polls of these processes find the work")

    def notify_others(self) -> None:
        others = [listener for listener in self.folder.glob("*") if listener != self.path]
        if others:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, addresses(self.folder) as address:
                sender.setblocking(False)
                for listener in others:
                    notify_one(sender, listener, address(listener))

    async def listen(self) -> None:
        if self.receiver is not None:
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.receiver.setblocking(False)
        try:
            with addresses(self.folder) as address:
                self.receiver.bind(address(self.path))
        except OSError as error:  # a file system without sockets
            log.info("wakeup.unavailable", error=str(error), next="polling finds the work of other processes")
            self.receiver.close()
            self.receiver = None
            return
        asyncio.get_running_loop().add_reader(self.receiver, self.receive)

    def receive(self) -> None:
        assert self.receiver is not None
        with contextlib.suppress(BlockingIOError):
            while self.receiver.recv(16):
                pass
        self.notify_local()

    async def close(self) -> None:
        if self.receiver is not None:
            asyncio.get_running_loop().remove_reader(self.receiver)
            self.receiver.close()
            self.receiver = None
            self.path.unlink(missing_ok=True)
        await super().close()


@contextmanager
def addresses(folder: Path) -> Iterator[Callable[[Path], str]]:
    """Yield a function that returns the address of a socket in this folder.

    An address has at most about a hundred bytes. A longer path goes through the folder's file descriptor, on systems
    that have /proc.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    through = Path(f"/proc/self/fd/{descriptor}")

    def address(listener: Path) -> str:
        full = str(listener)
        return full if len(os.fsencode(full)) <= MAX_ADDRESS or not through.exists() else str(through / listener.name)

    try:
        yield address
    finally:
        os.close(descriptor)


def notify_one(sender: socket.socket, listener: Path, address: str) -> None:
    try:
        sender.sendto(b"!", address)
    except BlockingIOError:
        pass  # it has unread notifications already
    except (ConnectionRefusedError, FileNotFoundError):
        listener.unlink(missing_ok=True)  # its process has ended

    except OSError as error:
        log.info(
            "wakeup.failed", listener=listener.name, error=str(error), next="the poll of this listener finds the work"
        )
