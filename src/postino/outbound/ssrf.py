"""Which addresses a person may make Postino fetch from: the public internet, and Postino's own origins, exactly.

A name is checked by what it resolves to, at the moment of the connection: `checked_socket` sees the very address that
is then connected to, whichever way the client found it.
"""

import ipaddress
import re
import socket
from collections.abc import Collection
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from postino.errors import WrongUse

NOT_PUBLIC = "leads to this machine or a private network; give an address that anybody on the internet can open"
# As the C library reads them, 0x7f.1 and 2130706433 are 127.0.0.1; nobody writes them so in good faith.
NUMBERS = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE | re.ASCII)
LOCAL_NAMES = re.compile(r"(.*\.)?(localhost|local|internal|localdomain)\.?", re.IGNORECASE)
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Public by their number, but answered by the cloud a machine stands in, with its credentials.
CLOUD_ADDRESSES = frozenset(map(ipaddress.IPv4Address, ("168.63.129.16", "192.0.0.192")))


class Refused(WrongUse):
    """An address Postino does not fetch from, or a file it does not take; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


def check_url(url: str, allowed: Collection[str] = ()) -> str | None:
    """Why nobody may make Postino fetch this; None if nothing is wrong as far as its text tells."""
    if url != url.strip() or re.search(r"[\x00-\x20\x7f\\]", url):
        return "it contains blanks, backslashes or control characters"
    try:
        parsed = URL(url)
        ours = is_ours(parsed, allowed)
    except ValueError:
        return "it is not an address"
    if parsed.scheme not in ("http", "https"):
        return "it must begin with http:// or https://"
    if parsed.user is not None or parsed.password is not None:
        return "it contains a user name or password"
    if not parsed.raw_host:
        return "it names no host"
    return None if ours else check_host(parsed.raw_host)


def check_host(host: str) -> str | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if NUMBERS.fullmatch(host):
            return "its host is a number in an unusual form; write it as four numbers with dots"
        return f"{host} {NOT_PUBLIC}" if LOCAL_NAMES.fullmatch(host) else None
    return None if is_public(address) else f"{host} {NOT_PUBLIC}"


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        within = _embedded(address)
        return is_public(within) if within else _is_global(address)
    return _is_global(address) and address not in CLOUD_ADDRESSES


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local  # given up, and still routed
    unusual = address.is_multicast or address.is_reserved or address.is_unspecified or site_local
    return address.is_global and not unusual


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address behind an IPv6 one that only wraps it."""
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def is_ours(url: URL, allowed: Collection[str]) -> bool:
    """Whether scheme, host and port are exactly those of an allowed origin."""
    return any((url.scheme, url.raw_host, url.port) == (it.scheme, it.raw_host, it.port) for it in map(URL, allowed))


class CheckedResolver(AbstractResolver):
    """Refuses a name as soon as one of its addresses is not public."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            _refuse_unless_public(one["host"], f"{host} ({one['host']})")
        return found

    async def close(self) -> None:
        await self._resolver.close()


def checked_socket(address: tuple[Any, ...]) -> socket.socket:
    """The last guard: called with the very address that is about to be connected to, literal or resolved."""
    family, kind, protocol, _, (host, *_) = address
    _refuse_unless_public(host, host)
    return socket.socket(family, kind, protocol)


def _refuse_unless_public(host: str, shown: str) -> None:
    if not is_public(ipaddress.ip_address(host)):
        raise Refused(f"{shown} {NOT_PUBLIC}.")
