"""Some networks fetch pictures themselves. Here they do so on this machine only; other addresses are believed."""

import asyncio
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

import aiohttp

from postino.sandbox.network_state import File
from postino.sandbox.requests import media_types

PATIENCE = aiohttp.ClientTimeout(total=10)
LARGEST = 256 * 1024 * 1024


async def fetch(session: aiohttp.ClientSession, urls: Iterable[str]) -> dict[str, File | None]:
    wanted = list(dict.fromkeys(urls))
    return dict(zip(wanted, await asyncio.gather(*(fetch_one(session, url) for url in wanted)), strict=True))


async def fetch_one(session: aiohttp.ClientSession, url: str) -> File | None:
    """None if it cannot be had."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        if not is_loopback(parts.hostname):
            return File(media_types(parts.path), b"", url=url)
        async with session.get(url, timeout=PATIENCE, allow_redirects=False) as answer:
            if answer.status != 200:
                return None
            data = await answer.content.read(LARGEST)
            while more := await answer.content.read(LARGEST - len(data)):
                data += more
            return File(answer.content_type, data)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
