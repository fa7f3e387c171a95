"""Check the values of settings: their ranges, and what must hold between them."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postino.errors import ConfigError
from postino.values.base_url import normalize_origin
from postino.values.suggestions import find_nearest

if TYPE_CHECKING:
    from postino.config import ChannelConfig, Config

ENVIRONMENT = "POSTINO_"
MAX_SECONDS = 366 * 86400.0  # a year
MAX_COUNT = 1_000_000
MAX_DAYS = 36_600
MAXIMUM: dict[str, float] = {
    "database.connections": 1000,
    "database.statement_timeout": 86400,
    "database.transaction_warning": MAX_SECONDS,
    "worker.concurrency": 100_000,
    "worker.heartbeat": 86400,
    "worker.lease": 86400,
    "worker.drain": MAX_SECONDS,
    "worker.stall": MAX_SECONDS,
    "queue.max_attempts": 1000,
    "retention.finished_days": MAX_DAYS,
    "retention.dead_letter_days": MAX_DAYS,
    "retention.event_days": MAX_DAYS,
    "publishing.timeout_factor": 1000,
    "publishing.send_within": 3600,
    "publishing.cap": MAX_COUNT,
    "publishing.give_up_after": MAX_SECONDS,
    "queue.time_limit": MAX_SECONDS,
    "api.rate": MAX_COUNT,
    "api.burst": MAX_COUNT,
    "api.read_timeout": 86400,
    "api.streams": 100_000,
}
MAY_BE_ZERO = {"worker.drain", "queue.time_limit", "api.rate"}
BACKOFF_RANGES: dict[str, tuple[float, float]] = {
    "base": (0, MAX_SECONDS),
    "factor": (1, 1000),
    "max": (0, MAX_SECONDS),
}
TYPES: dict[type, str] = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "a table of numbers",
    list: "a list",
}  # fmt: skip
POSTGRES_URLS = ("postgresql://", "postgres://")


def check_config(config: "Config") -> "Config":
    """Return the settings. Raises ConfigError if one is out of range or contradicts another."""
    worker, queue = config.worker, config.queue
    for name, most in MAXIMUM.items():
        section, _, key = name.partition(".")
        value = getattr(getattr(config, section), key)
        if value != 0 or name not in MAY_BE_ZERO:
            _check_range(value, most, name)
    _check_channels(config.channels)
    if not 0 < worker.poll <= 1:
        raise ConfigError(f"worker.poll must be above 0 and at most 1 second, not {worker.poll}.", field="worker.poll")
    if worker.heartbeat >= worker.lease / 3:
        raise ConfigError(
            f"worker.heartbeat ({worker.heartbeat} s) must be less than a third of worker.lease ({worker.lease} s), or"
            " other workers would take a slow worker for dead.",
            field="worker.heartbeat",
        )
    for where, backoff in [("queue", queue.retry_backoff)] + [
        (f"channels.{name}", entry.retry_backoff) for name, entry in config.channels.items() if entry.retry_backoff
    ]:
        for key, value in backoff.items():
            check_known(key, BACKOFF_RANGES, f"{where}.retry_backoff.{key}")
            _check_backoff(value, key, f"{where}.retry_backoff.{key}")
    for setting, texts in (
        ("networks.plugins", config.networks.plugins),
        ("networks.allowed_private_origins", config.networks.allowed_private_origins),
        ("outbound.http_origins", config.outbound.http_origins),
        ("api.trusted_proxies", config.api.trusted_proxies),
    ):
        if not all(isinstance(text, str) for text in texts):
            raise ConfigError(f"{setting} must be a list of texts, not {texts!r}.", field=setting)
    _check_networks(config.api.trusted_proxies, "api.trusted_proxies")
    _check_origins(config.networks.allowed_private_origins, "networks.allowed_private_origins", "http://10.0.0.7:8080")
    _check_origins(config.outbound.http_origins, "outbound.http_origins", "http://social.example", "http://")
    if config.sandbox.url:
        _check_origins([config.sandbox.url.removesuffix("/")], "sandbox.url", "http://127.0.0.1:8701")
    _check_database(config)
    return config


def _check_channels(channels: "Mapping[str, ChannelConfig]") -> None:
    for name, channel in channels.items():
        if channel.max_attempts is not None:
            _check_range(channel.max_attempts, MAXIMUM["queue.max_attempts"], f"channels.{name}.max_attempts", int)
        if channel.time_limit is not None:
            _check_range(channel.time_limit, MAX_SECONDS, f"channels.{name}.time_limit")


def _check_networks(texts: Sequence[str], name: str) -> None:
    for text in texts:
        try:
            ipaddress.ip_network(text)
        except ValueError:
            message = f"{name}: {text!r} is neither an address nor a network such as 10.0.0.0/8."
            raise ConfigError(message, field=name) from None


def _check_origins(origins: Sequence[str], name: str, example: str, scheme: str = "http") -> None:
    for origin in origins:
        if normalize_origin(origin) is None or not origin.startswith(scheme):
            raise ConfigError(f"{name}: {origin!r} is not an origin such as {example}.", field=name)


def _check_database(config: "Config") -> None:
    if not config.database_url.startswith(("sqlite:///", *POSTGRES_URLS)):
        raise ConfigError("database.url must start with sqlite:/// or postgresql://.", field="database.url")
    if config.database.listen_url and not config.database.listen_url.startswith(POSTGRES_URLS):
        raise ConfigError("database.listen_url must start with postgresql://.", field="database.listen_url")


def _check_range(value: Any, most: float, name: str, type_: type[float] = float) -> None:
    """Raise ConfigError unless the value is a number above 0 and at most `most`. NaN is none."""
    if isinstance(value, bool) or not isinstance(value, int | type_) or not 0 < value <= most:
        raise ConfigError(
            f"{name} must be {describe_type(type_)} greater than 0 and at most {most:,.0f}, not {value!r}.", field=name
        )


def _check_backoff(value: Any, key: str, name: str) -> None:
    least, most = BACKOFF_RANGES[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ConfigError(f"{name} must be a number from {least} to {most:,.0f}, not {value!r}.", field=name)


def describe_type(type_: type) -> str:
    """Return the name of a type for people."""
    return TYPES[type_]


def check_known(name: str, names: Any, where: str) -> None:
    """Raise ConfigError with the nearest known name unless `names` contains this one."""
    if name in names:
        return
    # Without the prefix, which would make all of them similar.
    bare = {full.removeprefix(ENVIRONMENT): full for full in names}
    nearest = find_nearest(name.removeprefix(ENVIRONMENT), bare)
    hint = f"Did you mean {bare[nearest]}?" if nearest else f"Use one of: {', '.join(sorted(names))}."
    raise ConfigError(f"Unknown setting {where}. {hint}", field=name)
