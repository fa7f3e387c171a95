"""Group addresses of clients: one person has one IPv4 address, or a network of IPv6 addresses."""

import ipaddress


def group_address(address: str) -> str:
    """Return what attempts are counted by: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
