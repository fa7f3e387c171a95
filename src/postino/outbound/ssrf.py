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

NOT_PUBLIC = "leads to this machine or a private network; give a URL that anybody on the internet can open"
# The C library reads 0x7f.1 and 2130706433 as 127.0.0.1. Nobody writes such hosts except to get around this check.
NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE | re.ASCII)
LOCAL_HOST = re.compile(r"(.*\.)?(localhost|local|internal|localdomain)\.?", re.IGNORECASE)
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Public by their number, but served by the cloud provider to its own machines, with credentials.
CLOUD_METADATA = frozenset(map(ipaddress.IPv4Address, ("168.63.129.16", "192.0.0.192")))


class DownloadRefused(WrongUse):
    """Postino does not download this file; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class UnsafeUrl(DownloadRefused):
    """Postino does not request this URL: it leads to a private network, or is malformed."""


def check_url(url: str, allowed_origins: Collection[str] = ()) -> str | None:
    """Return why Postino must not request this URL, judging by its text alone; None if nothing is wrong."""
    if url != url.strip() or re.search(r"[\x00-\x20\x7f\\]", url):
        return "it contains blanks, backslashes or control characters"
    try:
        parsed = URL(url)
        allowed = is_allowed_origin(parsed, allowed_origins)
    except ValueError:
        return "it is not a URL"
    if parsed.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    if parsed.user is not None or parsed.password is not None:
        return "it contains a user name or password"
    if not parsed.raw_host:
        return "it has no host"
    return None if allowed else check_host(parsed.raw_host)


def check_host(host: str) -> str | None:
    """Return why Postino must not connect to this host; None if nothing is wrong with its text."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if NUMERIC_HOST.fullmatch(host):
            return "its host is a number in an unusual form; write it as four numbers with dots"
        return f"{host} {NOT_PUBLIC}" if LOCAL_HOST.fullmatch(host) else None
    return None if is_public(address) else f"{host} {NOT_PUBLIC}"


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        embedded = _extract_ipv4(address)
        return is_public(embedded) if embedded else _is_global(address)
    return _is_global(address) and address not in CLOUD_METADATA


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    # Site-local addresses are deprecated but still routed.
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    special = address.is_multicast or address.is_reserved or address.is_unspecified or site_local
    return address.is_global and not special


def _extract_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that this IPv6 address stands for, if any."""
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def is_allowed_origin(url: URL, allowed_origins: Collection[str]) -> bool:
    """Tell whether scheme, host and port are exactly those of an allowed origin."""
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
            _require_public(result["host"], f"{host} ({result['host']})")
        return results

    async def close(self) -> None:
        await self._resolver.close()


def create_public_socket(address: tuple[Any, ...]) -> socket.socket:
    """Create the socket for the address that is about to be connected to; raise UnsafeUrl if it is not public."""
    family, kind, protocol, _, (host, *_) = address
    _require_public(host, host)
    return socket.socket(family, kind, protocol)


def _require_public(host: str, label: str) -> None:
    if not is_public(ipaddress.ip_address(host)):
        raise UnsafeUrl(f"{label} {NOT_PUBLIC}.")
