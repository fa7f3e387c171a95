"""The program of the drills' workers: it publishes, and keeps its state in the directory of the machine it plays."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from postino import Postino
from postino.config import Config, WitnessConfig
from postino.stores import sqlite_place
from tests.crash.publishing import program as usual


def make_settings(order: dict[str, Any]) -> Config:
    return replace(
        usual.settings(order),
        witness=WitnessConfig(trust_database=order.get("trusts", False)),
        is_publishing=order.get("is_publishing", True),
    )


async def work(order: dict[str, Any]) -> None:
    """Run a worker on the machine of this name until SIGTERM."""
    os.environ["POSTINO_STATE_DIR"] = order["state_dir"]
    if "machine_id" in order:
        sqlite_place.MACHINE = Path(order["machine_id"])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Postino(make_settings(order)) as app:
        await app.work(stop=stop)
