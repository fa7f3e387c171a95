"""Media that networks fetch themselves. The sandbox sends no request: it reads its own files, nothing else.

A file of this sandbox is read from its database. Other URLs count as downloaded, but those of this machine and of
private networks, which a real network could not reach, count as missing.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

import apsw

from postino.outbound.ssrf import check_host
from postino.sandbox import samples
from postino.sandbox.network_state import SandboxFile
from postino.sandbox.requests import guess_media_type

MEDIA = re.compile(r"/_sandbox/media/([\w.-]+)", re.ASCII)


def fetch_all(connection: apsw.Connection, own_url: str, urls: Iterable[str]) -> dict[str, SandboxFile | None]:
    """Return the file behind each URL; `own_url` is any URL of this sandbox."""
    return {url: fetch(connection, own_url, url) for url in urls}


def fetch(connection: apsw.Connection, own_url: str, url: str) -> SandboxFile | None:
    """Return the file, or None if it cannot be downloaded."""
    try:
        parts, own = urlsplit(url), urlsplit(own_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            media = MEDIA.fullmatch(parts.path)
            if media is None:
                return SandboxFile("text/html", b"")  # the feed, the admin API or a network: no picture
            found = find_media(connection, media[1])
            return found and SandboxFile(*found)
        if check_host(parts.hostname):
            return None
        return SandboxFile(guess_media_type(parts.path), b"", url=url)
    except ValueError:
        return None


def find_media(connection: apsw.Connection, name: str) -> tuple[str, bytes] | None:
    """Return media type and bytes of a sample, or of a file that somebody uploaded."""
    rows = connection.execute("SELECT mime, bytes FROM media WHERE id = ?", (name,))
    return samples.read_sample(name) or next(((mime, data) for mime, data in rows), None)
