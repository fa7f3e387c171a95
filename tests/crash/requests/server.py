"""What the forked processes of this sweep run: an API server, or one call of the library."""

import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

from postino import Postino
from postino.config import load_config

ADDRESS_FILE, STATE_FILE = "api.address", "state.json"
GRACE = 5.0


async def serve_api(order: dict[str, Any]) -> None:
    """Serve the API as `postino server` does, and write its address into the data directory."""
    from postino.api.http_server import serve

    folder = Path(order["folder"])
    os.environ |= {"POSTINO_DATA_DIR": str(folder), "POSTINO_DATABASE_URL": order["url"]}
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def write_address() -> None:
            partial = folder / f"{ADDRESS_FILE}.{os.getpid()}"
            partial.write_text(f"http://127.0.0.1:{listener.getsockname()[1]}")
            partial.rename(folder / ADDRESS_FILE)

        await serve(load_config(), listener, write_address, stop=stop, grace=GRACE)


async def call_library(order: dict[str, Any]) -> None:
    """Make the one call of a recipe that no request makes."""
    from tests.crash.requests.recipes import CALLS

    state: dict[str, str] = json.loads((Path(order["folder"]) / STATE_FILE).read_text())
    async with open_app(order["folder"], order["url"]) as app:
        await CALLS[order["calls"]].run(app, state)


def open_app(folder: str | Path, url: str) -> Postino:
    """Return the application on this data directory and database."""
    return Postino(load_config(Path(folder), {"database": {"url": url}}, environment={}))
