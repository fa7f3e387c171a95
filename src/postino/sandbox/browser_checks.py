"""Refuse requests that a web page of another site makes a browser send.

Every web page can make a browser send requests to this machine, and by DNS rebinding also under a name of its own.
Such requests have a foreign `Host`, `Origin` or `Sec-Fetch-Site`. Programs send none of the last two. Only Postino's
downloads of media do: a person chose their URLs, so they must not call a network either.
"""

import ipaddress
import re

from aiohttp import web

HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
OWN_SITES = ("same-origin", "none")  # a page of the sandbox itself, and an address that a person entered
MEDIA = "/_sandbox/media/"  # images that the dashboard may show


def describe_foreign_request(request: web.Request) -> str | None:
    """Return why a request is refused: it comes from a web page of another site; None if it does not."""
    if not is_own_host(request):
        return "The Host header does not name this sandbox. Use the address that the sandbox printed."
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.host}":
        return "Web pages of other origins may not use the sandbox."
    if request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITES and not is_harmless(request):
        return "Web pages of other sites may not use the sandbox."
    return None


def is_own_host(request: web.Request) -> bool:
    """Return whether the Host header names this machine. A page under a foreign name would send that name."""
    hosts = request.headers.getall("Host", [])
    match = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if match is None or request.transport is None:
        return False
    local = request.transport.get_extra_info("sockname")[0]
    name = match[1].strip("[]").lower()
    if not ipaddress.ip_address(local).is_loopback:
        # In a container: an address, or a name without dots, which no foreign domain can have.
        return "." not in name or is_address(name)
    return name in ("localhost", "127.0.0.1", "::1", local)


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_harmless(request: web.Request) -> bool:
    """Return whether another site may send a browser here: by a link to the feed, or for an image."""
    follows_link = request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate"
    return request.method == "GET" and (follows_link or request.path.startswith(MEDIA))
