"""Ask a server by nodeinfo what software it runs: only some recognise a repeated request by its idempotency key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from postino.providers.urls import join_url
from postino.rules.failures import classify_status
from postino.values.provider import Answer, Http

# Software that is known to recognise a repeated request by its key, as nodeinfo names it, from which version on.
HONOURS_KEY: Mapping[str, tuple[int, int]] = {"mastodon": (2, 0)}
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}", re.ASCII)
VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})[\w.+~-]{0,40}", re.ASCII)
SCHEMA = "nodeinfo.diaspora.software/ns/schema/"
ASK_AGAIN = timedelta(days=1)  # a server may be moved to other software


@dataclass(frozen=True, slots=True)
class Software:
    """The software of a server; empty values: the server does not say."""

    name: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()

    def honours_key(self) -> bool:
        """Return whether the server is known to create no second post for a repeated request."""
        version, first = VERSION.fullmatch(self.version), HONOURS_KEY.get(self.name)
        return version is not None and first is not None and (int(version[1]), int(version[2])) >= first


@dataclass(slots=True)
class SoftwareByServer:
    """The software of each server, from the answer that the server gave within the last day.

    It is kept in memory: each worker asks a server at most once a day, and only after a lookup that found nothing. An
    answer from longer ago must not be trusted, so storing it would save next to nothing.
    """

    _known: dict[str, tuple[datetime, Software]] = field(default_factory=dict)

    async def identify(self, http: Http, base_url: str, now: datetime) -> Software | Answer:
        """Return the software of a server, or its response if the server has to be asked later.

        Raises NotSent and LostResponse.
        """
        asked_at, software = self._known.get(base_url, (None, Software()))
        if asked_at is not None and asked_at <= now < asked_at + ASK_AGAIN:
            return software
        answer = await self._read(http, join_url(base_url, ".well-known/nodeinfo"))
        url = find_link(base_url, answer.json()) if answer.ok else None
        if url is not None:
            answer = await self._read(http, url)
        if classify_status(answer.status) == "rate_limit" or answer.status >= 500:
            return answer
        software = read_software(answer.json()) if url is not None and answer.ok else Software()
        if software.name:
            self._known[base_url] = (now, software)
        return software

    async def _read(self, http: Http, url: str) -> Answer:
        """Read a public page, without the token of the account: its refusal says nothing about the account."""
        return await http.request("GET", url)


def find_link(base_url: str, body: Any) -> str | None:
    """Return the URL of the server's description, if it is on the server itself."""
    links = body.get("links") if isinstance(body, dict) else None
    for link in links if isinstance(links, list) else []:
        match link:
            case {"rel": str(rel), "href": str(href)} if SCHEMA in rel and is_same_origin(base_url, href):
                return href
    return None


def is_same_origin(base_url: str, url: str) -> bool:
    try:
        ours, theirs = urlsplit(base_url), urlsplit(url)
        same_port = ours.port == theirs.port
    except ValueError:
        return False
    return same_port and "@" not in theirs.netloc and (ours.scheme, ours.hostname) == (theirs.scheme, theirs.hostname)


def read_software(body: Any) -> Software:
    match body:
        case {"software": {"name": str(name), "version": str(version)}} if NAME.fullmatch(name.lower()):
            return Software(name.lower(), version if VERSION.fullmatch(version) else "")
        case {"software": {"name": str(name)}} if NAME.fullmatch(name.lower()):
            return Software(name.lower())
    return Software()
