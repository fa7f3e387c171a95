"""A process that has everything imported and forks workers, so that starting one takes milliseconds.

Whoever connects to its socket gets a family of workers of its own. When the connection ends, so does the family; when
whoever started the forker is gone, so is the forker.
"""

import asyncio
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import postino.api.http_server
import postino.api.server
import postino.outbound.http
import postino.stores.postgres
import postino.wakeups.postgres
from postino.config import load_config
from tests.crash.program import act, application


class Family:
    """The workers of one caller, who says one line for each start and signal and hears one for each start and end."""

    def __init__(self, caller: socket.socket) -> None:
        self.caller = caller
        self.alive: set[int] = set()
        self.bell, self.rope = socket.socketpair()
        self.rope.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.rope.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        unread = b""
        while True:
            ready, _, _ = select.select([self.caller, self.bell], [], [])
            if self.bell in ready:
                self.bell.recv(4096)
                self.bury()
            if self.caller in ready:
                heard = self.caller.recv(65536)
                if not heard:
                    return self.end()
                *orders, unread = (unread + heard).split(b"\n")
                for order in orders:
                    self.obey(json.loads(order))

    def obey(self, order: dict[str, Any]) -> None:
        if "signal" in order:
            if order["pid"] in self.alive:  # nobody else can have its number before it is buried
                os.kill(order["pid"], order["signal"])
            return
        pid = os.fork()
        if pid == 0:
            self.leave()
            become(order)
        self.alive.add(pid)
        self.say({"started": pid})

    def bury(self) -> None:
        while self.alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self.alive.discard(pid)
            self.say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def say(self, told: dict[str, int]) -> None:
        self.caller.sendall(json.dumps(told).encode() + b"\n")

    def end(self) -> None:
        for pid in self.alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def leave(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for ours in (self.caller, self.bell, self.rope):
            ours.close()


def become(order: dict[str, Any]) -> None:
    """Never returns. What it logs is kept beside its database."""
    code = 1
    try:
        log = os.open(Path(order["folder"]) / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["POSTINO_CRASH"] = order["crash"]
        asyncio.run(act(order))
        code = 0
    except BaseException:  # noqa: BLE001 - there is nobody above this
        print(f"process {os.getpid()} ended by", traceback.format_exc())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(address: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Whatever a process builds once is built here, for all of them.
    application({"folder": "", "url": "sqlite:///nowhere"})
    with tempfile.TemporaryDirectory() as folder:
        postino.api.server.make_app(load_config(Path(folder), environment={}))
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            caller, _ = door.accept()
            if os.fork() == 0:
                door.close()
                Family(caller).serve()
                os._exit(0)
            caller.close()


if __name__ == "__main__":
    main(sys.argv[1])
