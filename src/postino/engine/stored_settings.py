"""Keep one set of blackout windows and caps for all workers: store it when asked to, otherwise only compare."""

import socket

import structlog

from postino.engine.channel_limits import ChannelLimits
from postino.rules.stored_settings import describe_differences, render_settings
from postino.stores.records import StoredSettings
from postino.stores.store import Store

log = structlog.get_logger("postino.settings")
OTHERS_STORED = "the stored blackout windows and caps hold; `postino migrate` with these settings replaces them"
NOTHING_STORED = "no blackout window or cap of any settings holds; `postino migrate` stores these settings for all"


async def store_settings(store: Store, limits: ChannelLimits, written_by: str) -> StoredSettings:
    """Store the blackout windows and caps of these settings for all workers."""
    return await store.write_settings(render_settings(limits.caps, limits.blackouts), written_by)


async def store_first_settings(store: Store, limits: ChannelLimits) -> None:
    """Store these settings in a database that this process has just created, unless another process did so."""
    document = render_settings(limits.caps, limits.blackouts)
    await store.write_settings(document, f"process on {socket.gethostname()}", only_first=True)


async def compare_settings(store: Store, limits: ChannelLimits) -> None:
    """Log how these settings differ from the stored ones. Writes nothing."""
    stored = await store.settings()
    content = render_settings({}, []) if stored is None else stored.content
    differences = describe_differences(content, render_settings(limits.caps, limits.blackouts))
    if differences:
        log.warning(
            "settings.differ",
            differences=differences,
            stored_version=stored and stored.version,
            written_by=stored and stored.written_by,
            next=NOTHING_STORED if stored is None else OTHERS_STORED,
        )
