"""An API server in a thread, whose queue is emptied for every test."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import uvicorn

from postino.api.server import make_app
from postino.config import load_config

DEADLINE = 20.0
KEYS = ("api.key", "vault.key")  # which the server has read


class ThreadedServer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.app = make_app(load_config(folder, environment={}))
        self.loop = asyncio.new_event_loop()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.server = uvicorn.Server(uvicorn.Config(self.app, log_config=None, access_log=False, lifespan="off"))
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.server.serve([self.socket]))

    def empty(self) -> Path:
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in KEYS:
                path.unlink()
        return self.folder

    @contextmanager
    def open(self) -> Iterator[str]:
        """Yield the URL while the database is open."""
        life = self.app.router.lifespan_context(self.app)
        self.wait_for(life.__aenter__())
        try:
            yield f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        finally:
            self.wait_for(life.__aexit__(None, None, None))

    def wait_for(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(DEADLINE)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(DEADLINE)
        self.loop.close()
        self.socket.close()
