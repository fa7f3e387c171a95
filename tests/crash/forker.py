"""A process that has everything imported and forks workers, so that starting one takes milliseconds.

Each connection to its socket has its own group of workers, which ends with the connection. The forker ends when its
parent process ends.
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


class WorkerGroup:
    """The workers of one caller: it sends a line for each order, and receives one for each start, stop and end."""

    def __init__(self, caller: socket.socket) -> None:
        self.caller = caller
        self.alive: set[int] = set()
        self.wakeup_reader, self.wakeup_writer = socket.socketpair()
        self.wakeup_writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wakeup_writer.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        unread = b""
        while True:
            ready, _, _ = select.select([self.caller, self.wakeup_reader], [], [])
            if self.wakeup_reader in ready:
                self.wakeup_reader.recv(4096)
                self.reap_children()
            if self.caller in ready:
                data = self.caller.recv(65536)
                if not data:
                    return self.end()
                *orders, unread = (unread + data).split(b"\n")
                for order in orders:
                    self.run_order(json.loads(order))

    def run_order(self, order: dict[str, Any]) -> None:
        if "signal" in order:
            if order["pid"] in self.alive:  # no other process can have its number before it is reaped
                os.kill(order["pid"], order["signal"])
            return
        pid = os.fork()
        if pid == 0:
            self.close_inherited()
            run_child(order)
        self.alive.add(pid)
        self.send_line({"started": pid})

    def reap_children(self) -> None:
        while self.alive:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                self.send_line({"stopped": pid})
                continue
            self.alive.discard(pid)
            self.send_line({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def send_line(self, message: dict[str, int]) -> None:
        self.caller.sendall(json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        for pid in self.alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def close_inherited(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for inherited in (self.caller, self.wakeup_reader, self.wakeup_writer):
            inherited.close()


def run_child(order: dict[str, Any]) -> None:
    """Run an order in the child process and exit; its log is stored beside the database."""
    code = 1
    try:
        log = os.open(Path(order["folder"]) / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["POSTINO_CRASH"] = order["crash"]
        asyncio.run(act(order))
        code = 0
    except BaseException:  # noqa: BLE001 - this is the top of the child process
        print(f"process {os.getpid()} ended by", traceback.format_exc())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(address: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # What a process builds once is built here, for all children.
    application({"folder": "", "url": "sqlite:///nowhere"})
    with tempfile.TemporaryDirectory() as folder:
        postino.api.server.make_app(load_config(Path(folder), environment={}))
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            caller, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                WorkerGroup(caller).serve()
                os._exit(0)
            caller.close()


if __name__ == "__main__":
    main(sys.argv[1])
