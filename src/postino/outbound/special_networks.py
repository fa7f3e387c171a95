"""Decide whether an IP address is on the public internet.

The networks are those of the IANA special-purpose address registries for IPv4 and IPv6. Python's
`ipaddress.is_global` has another table in each release, so Postino has its own.
"""

import ipaddress

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

NON_PUBLIC_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared with the provider; metadata servers of some clouds
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # public by its number, but the platform server that every Azure machine reaches
            "169.254.0.0/16",  # link-local; metadata servers of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments: DS-Lite, dummy address, NAT64 discovery, a metadata server
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnels
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
# Everything else is unallocated, local (ULA, link-local, site-local) or a form of an IPv4 address.
PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
NON_PUBLIC_IPV6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, anycast of NAT and PCP servers
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which contains an IPv4 address
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
IPV4_FORMS = (ipaddress.IPv6Network("::ffff:0:0/96"), ipaddress.IPv6Network("64:ff9b::/96"))  # mapped, NAT64
ISATAP = (0x00005EFE, 0x02005EFE)  # bits 32 to 63 of an interface id; an IPv4 address follows


def is_public(address: IpAddress) -> bool:
    """Return whether an address is on the public internet, itself and the IPv4 address that it contains."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in NON_PUBLIC_IPV4)
    if address.scope_id is not None:
        return False  # a zone id selects an interface of this machine
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in IPV4_FORMS):
        return is_public(low)
    if int(address) >> 32 & 0xFFFFFFFF in ISATAP and not is_public(low):
        return False
    return address in PUBLIC_IPV6 and not any(address in network for network in NON_PUBLIC_IPV6)
