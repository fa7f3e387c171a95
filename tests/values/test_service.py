"""The names of services: the same server has one name, and nobody can take the name of another."""

import pytest

from postino.values.service import get_network, get_service, is_origin_service


@pytest.mark.parametrize(
    ("base_url", "service"),
    [
        ("https://example.social", "mastodon@example.social"),
        ("https://Example.Social/", "mastodon@example.social"),
        ("https://example.social:443", "mastodon@example.social"),
        ("https://example.social:8443", "mastodon@example.social:8443"),
        ("http://example.social", "mastodon@example.social:80"),
        ("http://example.social:443", "mastodon@example.social"),
        ("https://user:secret@example.social", "mastodon@example.social"),
        ("https://example.social/other", "mastodon@example.social/other"),
        ("https://[2001:DB8::1]", "mastodon@[2001:db8::1]:443"),
        ("https://192.0.2.1", "mastodon@192.0.2.1"),
        ("sandbox:/mastodon", "mastodon@sandbox"),
        ("https://sandbox", "mastodon@sandbox:443"),
        ("https://example.social:99999", "mastodon@unreadable"),
    ],
)
def test_service_is_the_network_and_the_place_of_the_server(base_url: str, service: str) -> None:
    assert get_service("mastodon", base_url) == service
    assert is_origin_service(service)
    assert get_network(service) == "mastodon"


@pytest.mark.parametrize("name", ["mastodon", "openai", "shop"])
def test_whole_channel_is_its_own_service(name: str) -> None:
    assert not is_origin_service(name)
    assert get_network(name) == name
