"""The program of the worker processes: it publishes under the caps, circuits and quotas that a test chooses."""

import asyncio
import signal
from dataclasses import replace
from datetime import timedelta
from typing import Any

from postino import Postino
from postino.config import ChannelConfig, CircuitsConfig, Config
from postino.providers.registry import load_built_in
from postino.rules.quota import Quota
from postino.values.gate import Scope
from tests.crash.publishing.program import AGAIN, MOST_ATTEMPTS
from tests.crash.publishing.program import settings as usual

NO_OUTAGE = {"failure_threshold": 1000}


def settings(order: dict[str, Any]) -> Config:
    """Return the settings of the crash tests with the given cap for each network and the given circuits."""
    channel = ChannelConfig(max_attempts=MOST_ATTEMPTS, retry_backoff=AGAIN, cap=order.get("cap"))
    return replace(
        usual(order),
        circuits=CircuitsConfig(**order.get("circuits", NO_OUTAGE)),
        channels=dict.fromkeys(load_built_in().providers, channel),
    )


def quota(most: int, seconds: float) -> Quota:
    return Quota(name="a few", most=most, period=timedelta(seconds=seconds), whose=Scope.ACCOUNT, costs={"post": 1})


async def work(order: dict[str, Any]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    app = Postino(settings(order))
    if "quota" in order:
        app.channel_limits = replace(
            app.channel_limits, quotas=dict.fromkeys(load_built_in().providers, (quota(*order["quota"]),))
        )
    async with app:
        await app.apply_settings()
        await app.work(stop=stop)
