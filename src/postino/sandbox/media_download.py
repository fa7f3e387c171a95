"""Download media for networks that fetch it themselves, from this machine only; other URLs count as downloaded."""

import asyncio
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

import aiohttp

from postino.sandbox.network_state import SandboxFile
from postino.sandbox.requests import guess_media_type

TIMEOUT = aiohttp.ClientTimeout(total=10)
MAX_BYTES = 256 * 1024 * 1024


async def download_all(session: aiohttp.ClientSession, urls: Iterable[str]) -> dict[str, SandboxFile | None]:
    unique = list(dict.fromkeys(urls))
    return dict(zip(unique, await asyncio.gather(*(download(session, url) for url in unique)), strict=True))


async def download(session: aiohttp.ClientSession, url: str) -> SandboxFile | None:
    """Return the file, or None if it cannot be downloaded."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        if not is_loopback(parts.hostname):
            return SandboxFile(guess_media_type(parts.path), b"", url=url)
        async with session.get(url, timeout=TIMEOUT, allow_redirects=False) as response:
            if response.status != 200:
                return None
            data = await response.content.read(MAX_BYTES)
            while more := await response.content.read(MAX_BYTES - len(data)):
                data += more
            return SandboxFile(response.content_type, data)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
