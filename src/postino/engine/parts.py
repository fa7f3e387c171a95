"""What an app is built from. The wiring chooses the implementations; the app and the engine only use them."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from postino.config import Config
from postino.engine.call_context import HttpClientFactory
from postino.engine.channel_limits import ChannelLimits
from postino.stores.store import Store
from postino.wakeups.wakeup import Wakeup


@dataclass(frozen=True, slots=True)
class Parts:
    """The implementations that the wiring chooses."""

    config: Config
    store: Store
    wakeup: Wakeup
    make_ready: Callable[[], Awaitable[None]]
    make_store: Callable[[], Store]  # another one on the same database, for another event loop
    make_http: Callable[[], AbstractAsyncContextManager[HttpClientFactory]]
    channel_limits: ChannelLimits
    state_dir: Path | None = None  # outside the database and its backups; None: nothing is kept there
