"""Services: what a circuit breaker guards. The service of an account is its network and the origin of its server.

`mastodon@example.social` is the server at https://example.social. A name without `@` is a whole network, or a channel
or service of the caller. Every sandbox account of a network has the service `NETWORK@sandbox`.

A path in the address is part of the name: otherwise somebody could choose one at which the server of others fails.
"""

from urllib.parse import urlsplit

from postino.values.base_url import SANDBOX

SANDBOX_ORIGIN = "sandbox"
UNREADABLE = "unreadable"
DEFAULT_PORT = 443


def get_service(network: str, base_url: str) -> str:
    """Return the service of an account whose server is at this address."""
    return f"{network}@{SANDBOX_ORIGIN if base_url.startswith(SANDBOX) else get_origin(base_url)}"


def get_origin(base_url: str) -> str:
    """Return the host and the path of an address, with its port unless that is 443.

    All unreadable addresses are one origin.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port or (DEFAULT_PORT if parts.scheme == "https" else 80)
    except ValueError:
        return UNREADABLE
    host = (parts.hostname or UNREADABLE).lower()
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == DEFAULT_PORT and "." in host else f"{shown}:{port}"
    return place + parts.path.rstrip("/")


def is_origin_service(service: str) -> bool:
    """Return whether this is the service of accounts at one origin. Other services are whole channels."""
    return "@" in service


def get_network(service: str) -> str:
    """Return the network of a service, or the service itself if it is a whole channel."""
    return service.partition("@")[0]
