"""Protection against server-side request forgery: the URLs that people may make Postino request.

Allowed are the public internet and the exact origins Postino itself serves. A host name is checked by the address it
resolves to at the moment of the connection: `create_public_socket` gets the very address that is connected to.
"""

import ipaddress
import re
import socket
from collections.abc import Collection
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from postino.errors import WrongUse
from postino.outbound.connector import create_socket
from postino.outbound.special_networks import is_public

NOT_PUBLIC = "leads to this machine or a private network; give a URL that anybody on the internet can open"
ODD_NUMBER = "its host is a number in an unusual form; write it as four numbers with dots"
NO_TLS = (
    "everybody on the way could read the credentials; use https://, or let the operator add {} to the setting"
    " `outbound.http_origins`"
)
# The C library reads 0x7f.1 and 2130706433 as 127.0.0.1. Nobody writes such hosts except to get around this check.
NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE | re.ASCII)
HOST_NAME = re.compile(r"([a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62}\.?", re.IGNORECASE | re.ASCII)
MAX_HOST_NAME = 254
LOCAL_HOST = re.compile(r"(.*\.)?(localhost|local|internal|localdomain)\.?", re.IGNORECASE)
MAX_URL = 4000  # characters; the time to check a host grows with its square


class DownloadRefused(WrongUse):
    """Postino does not download this file; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class UnsafeUrl(DownloadRefused):
    """Postino does not request this URL: it leads to a private network, or is malformed."""


def check_url(url: str, allowed_origins: Collection[str] = ()) -> str | None:
    """Return why Postino must not request this URL, judging by its text alone; None if nothing is wrong."""
    if len(url) > MAX_URL:
        return f"it has more than {MAX_URL:,} characters"
    if url != url.strip() or re.search(r"[\x00-\x20\x7f\\]", url):
        return "it contains blanks, backslashes or control characters"
    try:
        parsed = URL(url)
        allowed = is_allowed_origin(parsed, allowed_origins)
        host = parsed.host or ""  # raises if an xn-- form is invalid
    except ValueError:
        return "it is not a URL"
    if parsed.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    if parsed.user is not None or parsed.password is not None:
        return "it contains a user name or password"
    if not parsed.raw_host:
        return "it has no host"
    if allowed:
        return None
    # Digits of other scripts make a valid international name, which other programs read as an address.
    is_odd = "xn--" in parsed.raw_host and all(it.isdigit() or it == "." for it in host)
    return ODD_NUMBER if is_odd else check_host(parsed.raw_host)


def check_server_url(url: str, private_origins: Collection[str], http_origins: Collection[str]) -> str | None:
    """Return why no account may have its server at this URL; None if it may."""
    return check_url(url, private_origins) or check_encryption(URL(url), private_origins, http_origins)


def check_encryption(url: URL, private_origins: Collection[str], http_origins: Collection[str]) -> str | None:
    """Return why credentials must not be sent to this URL: it has no TLS, and no setting allows that."""
    if url.scheme == "https" or is_allowed_origin(url, [*private_origins, *http_origins]):
        return None
    return NO_TLS.format(url.origin())


def check_host(host: str) -> str | None:
    """Return why Postino must not connect to this host; None if nothing is wrong with its text."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if NUMERIC_HOST.fullmatch(host):
            return ODD_NUMBER
        if LOCAL_HOST.fullmatch(host):
            return f"{host} {NOT_PUBLIC}"
        is_name = len(host) <= MAX_HOST_NAME and HOST_NAME.fullmatch(host)
        return None if is_name else f"{host[:100]} is not the full name of a host on the internet"
    return None if is_public(address) else f"{host} {NOT_PUBLIC}"


def is_allowed_origin(url: URL, allowed_origins: Collection[str]) -> bool:
    """Return whether scheme, host and port are exactly those of an allowed origin."""
    origins = map(URL, allowed_origins)
    return any((url.scheme, url.raw_host, url.port) == (it.scheme, it.raw_host, it.port) for it in origins)


class PublicResolver(AbstractResolver):
    """Refuses a host name if one of its addresses is not public."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._resolver.resolve(host, port, family)
        for result in results:
            _require_public(result["host"], host)  # without the address: it may be known in the private network only
        return results

    async def close(self) -> None:
        await self._resolver.close()


def create_public_socket(address: tuple[Any, ...]) -> socket.socket:
    """Create the socket for the address that is about to be connected to; raise UnsafeUrl if it is not public."""
    *_, (host, *_) = address
    _require_public(host, host)
    return create_socket(address)


def _require_public(host: str, label: str) -> None:
    if not is_public(ipaddress.ip_address(host)):
        raise UnsafeUrl(f"{label} {NOT_PUBLIC}.")
