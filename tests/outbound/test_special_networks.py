"""Which addresses are public does not depend on the Python release, and each special-purpose network is refused."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.outbound.special_networks import IpAddress, is_public

# The IANA special-purpose registries, multicast, reserved and deprecated ranges, and servers of clouds.
SPECIAL = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.0.192/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
    "233.252.0.0/24", "240.0.0.0/4", "255.255.255.255/32", "168.63.129.16/32", "100.100.100.200/32",
    "::1/128", "::/128", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
    "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
    "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "4000::/3", "6000::/3", "8000::/3", "a000::/3",
    "c000::/3", "200::/7", "400::/6", "800::/5", "1000::/4", "fd00:ec2::254/128", "fd20:ce::254/128",
]  # fmt: skip
# The first addresses before and after these networks are public.
EDGES = [
    "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
    "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0",
    "192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255", "192.169.0.0", "192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0",
    "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "1.0.0.0", "168.63.129.15",
    "168.63.129.17", "8.8.8.8", "93.184.216.34",
    "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::", "2003::", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::", "3ffe:ffff::", "3fff:1000::",
    "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822", "::ffff:93.184.216.34",
    "2606:2800:220:1:0:5efe:5db8:d822",
]  # fmt: skip
LOCAL_FORMS = [
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::c000:8", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "::ffff:192.0.0.8", "::127.0.0.1", "::ffff:0:127.0.0.1", "2002:7f00:1::", "2002:5db8:d822::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe", "2606:2800:220:1:0:5efe:a00:1", "2606:2800:220:1:200:5efe:7f00:1",
    "fe80::1%eth0", "fe80::1%1", "2606:2800:220:1:248:1893:25c8:1946%lo", "::1%lo",
]  # fmt: skip


@pytest.mark.parametrize("network", SPECIAL)
def test_special_purpose_network_is_not_public(network: str) -> None:
    addresses = ipaddress.ip_network(network)
    middle = addresses[addresses.num_addresses // 2]
    assert not any(is_public(one) for one in (addresses[0], middle, addresses[-1]))


@pytest.mark.parametrize("address", EDGES)
def test_address_beside_a_special_network_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", LOCAL_FORMS)
def test_ipv6_form_of_a_private_address_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_ipv6_wrapping_does_not_make_ipv4_public(address: ipaddress.IPv4Address) -> None:
    wrapped = [ipaddress.ip_address(f"{prefix}{address}") for prefix in ("::ffff:", "64:ff9b::")]
    assert {is_public(one) for one in wrapped} == {is_public(address)}


@given(st.ip_addresses())
def test_no_address_is_public_that_this_python_calls_private(address: IpAddress) -> None:
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped
    assert address.is_global or mapped or not is_public(address)


def test_table_does_not_depend_on_the_python_release(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        for name in ("is_global", "is_private", "is_reserved", "is_multicast", "is_loopback", "is_link_local"):
            monkeypatch.setattr(kind, name, property(lambda _: True))
    assert not any(is_public(ipaddress.ip_network(network)[0]) for network in SPECIAL)
    assert all(is_public(ipaddress.ip_address(address)) for address in EDGES)
