"""Between processes on one SQLite file: each listener has a Unix datagram socket beside it."""

import asyncio
import contextlib
import os
import socket
from pathlib import Path

import structlog

from postino.wakeups.local import LocalWakeup

log = structlog.get_logger("postino.wakeup")


class DatagramWakeup(LocalWakeup):
    def __init__(self, database: Path) -> None:
        super().__init__()
        self.folder = database.with_name(database.name + "-wakeup")
        self.ear: socket.socket | None = None
        self.mouth = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.mouth.setblocking(False)

    @property
    def own(self) -> Path:
        return self.folder / f"{os.getpid()}-{id(self):x}"

    def tell(self) -> None:
        super().tell()
        for listener in self.folder.glob("*") if self.folder.exists() else ():
            if listener == self.own:
                continue
            try:
                self.mouth.sendto(b"!", str(listener))
            except BlockingIOError:
                pass  # it has unread hints already
            except (ConnectionRefusedError, FileNotFoundError):
                listener.unlink(missing_ok=True)  # nobody behind it any more
            except OSError as error:
                log.info("wakeup.failed", listener=listener.name, error=str(error), next="its poll finds the work")

    async def listen(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ear.setblocking(False)
        try:
            self.ear.bind(str(self.own))
        except OSError as error:  # a path too long for a socket, a file system without them
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
        self.told.set()

    async def close(self) -> None:
        if self.ear is not None:
            asyncio.get_running_loop().remove_reader(self.ear)
            self.ear.close()
            self.ear = None
            self.own.unlink(missing_ok=True)
        self.mouth.close()
        await super().close()
