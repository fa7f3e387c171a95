"""The networks Postino publishes to: one file each."""

from collections.abc import Mapping
from types import MappingProxyType

from postino.providers.bluesky import Bluesky
from postino.providers.mastodon import Mastodon
from postino.providers.telegram import Telegram
from postino.values.provider import Provider

_NETWORKS: tuple[Provider, ...] = (Bluesky(), Mastodon(), Telegram())

PROVIDERS: Mapping[str, Provider] = MappingProxyType({network.name: network for network in _NETWORKS})
