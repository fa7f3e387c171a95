"""Read the settings once: postino.toml < environment < flags, as one frozen value.

It checks names, types and ranges. It opens no database and imports no plug-in.
"""

import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from postino.errors import ConfigError
from postino.values.suggestions import find_nearest

ENVIRONMENT = "POSTINO_"
MIN_BACKOFF = {"base": 0, "factor": 1, "max": 0}
ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[\w.-]+)(:[0-9]{1,5})?", re.IGNORECASE)
NOT_SETTINGS = frozenset({"POSTINO_DATA_DIR", "POSTINO_APP", "POSTINO_CRASH", "POSTINO_SERVER", "POSTINO_API_KEY"})


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    url: str = ""  # "": postino.db in the data directory
    connections: int = 4  # PostgreSQL connections per process
    statement_timeout: float = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Durations are in seconds."""

    concurrency: int = 200  # maximum jobs that run at once
    heartbeat: float = 5.0  # time between two heartbeats
    lease: float = 20.0  # other workers take over after this long without a heartbeat
    poll: float = 1.0  # longest wait between two polls
    drain: float = 30.0  # how long a stopping worker waits for its running jobs
    stall: float = 60.0  # the process ends itself when its event loop is blocked for so long


@dataclass(frozen=True, slots=True)
class QueueConfig:
    max_attempts: int = 5
    retry_backoff: Mapping[str, float] = field(default_factory=lambda: {"base": 60, "factor": 2, "max": 3600})
    time_limit: float = 0  # seconds per attempt; 0 means none
    blackout_windows: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """Days for which finished things are kept. Idempotency keys are kept for ever."""

    finished_days: int = 180
    dead_letter_days: int = 90
    event_days: int = 30


@dataclass(frozen=True, slots=True)
class PublishingConfig:
    timeout_factor: float = 1.0  # multiplies each network's response timeout and visibility delay
    send_within: float = 5.0  # seconds from the intent to the request; a later request is not sent
    cap: int = 50  # posts of one network in progress at once, across all workers
    give_up_after: float = 21_600.0  # seconds a post without publish_until waits for an open circuit


@dataclass(frozen=True, slots=True)
class CircuitsConfig:
    """Circuit breakers of all services. 0 means the value of the profile."""

    profile: str = ""  # default, openai or adr013; "": the profile of each service
    failure_threshold: int = 0  # failures that open the circuit
    window: float = 0  # seconds in which they count
    open_timeout: float = 0  # seconds until it is half-open; doubled each time
    half_open_max_attempts: int = 0  # concurrent probes while half-open
    max_open_timeout: float = 0  # seconds at which doubling ends


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """Rate limit of each API key, and the time limit for receiving a request."""

    rate: float = 100.0  # requests per second; 0 means no limit
    burst: int = 1000  # requests at once
    read_timeout: float = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    url: str = ""  # address of the sandbox; "": none


@dataclass(frozen=True, slots=True)
class NetworksConfig:
    plugins: list[str] = field(default_factory=list)  # networks of your own, as module:attribute
    allowed_private_origins: list[str] = field(
        default_factory=list
    )  # origins in private networks that accounts may use


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """Settings of one channel. None means the general setting."""

    max_attempts: int | None = None
    retry_backoff: Mapping[str, float] | None = None
    time_limit: float | None = None
    cap: int | None = None
    circuit: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    data_dir: Path
    database: DatabaseConfig = field(default_factory=DatabaseConfig)
    worker: WorkerConfig = field(default_factory=WorkerConfig)
    queue: QueueConfig = field(default_factory=QueueConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)
    publishing: PublishingConfig = field(default_factory=PublishingConfig)
    circuits: CircuitsConfig = field(default_factory=CircuitsConfig)
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    api: ApiConfig = field(default_factory=ApiConfig)
    networks: NetworksConfig = field(default_factory=NetworksConfig)
    channels: Mapping[str, ChannelConfig] = field(default_factory=dict)

    @property
    def database_url(self) -> str:
        return self.database.url or f"sqlite:///{self.data_dir / 'postino.db'}"


SECTIONS: dict[str, type] = {
    "database": DatabaseConfig,
    "worker": WorkerConfig,
    "queue": QueueConfig,
    "retention": RetentionConfig,
    "publishing": PublishingConfig,
    "circuits": CircuitsConfig,
    "sandbox": SandboxConfig,
    "api": ApiConfig,
    "networks": NetworksConfig,
}


def load_config(
    data_dir: Path | None = None,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """Return the settings in force. `flags` are sections of keys, like the file. Raises ConfigError."""
    folder = data_dir or Path(environment.get("POSTINO_DATA_DIR") or get_user_data_dir(environment))
    folder = folder.expanduser().absolute()
    config = _read_file(Config(folder), folder / "postino.toml")
    for section, key, text in _read_environment(environment):
        name = f"{ENVIRONMENT}{section}_{key}".upper()
        config = _set_key(config, section, key, _parse_value(text, getattr(getattr(config, section), key), name), name)
    for section, keys in (flags or {}).items():
        for key, value in keys.items():
            if value is not None:
                config = _set_key(config, section, key, value, f"{section}.{key}")
    return _check_config(config)


def redact_url(url: str) -> str:
    """Return a URL without user, password and query, so that it can be shown."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def _read_file(config: Config, path: Path) -> Config:
    try:
        sections = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return config
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    channels = _require_table(sections.pop("channels", {}), f"channels in {path}")
    for section, keys in sections.items():
        _check_known(section, SECTIONS, f"section [{section}] in {path}")
        for key, value in _require_table(keys, f"{section} in {path}").items():
            config = _set_key(config, section, key, value, f"{section}.{key} in {path}")
    return replace(config, channels={name: _read_channel(name, keys, path) for name, keys in channels.items()})


def _require_table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be a table of settings, not {value!r}.", field=name)
    return value


def _read_channel(name: str, keys: Any, path: Path) -> ChannelConfig:
    for key in _require_table(keys, f"channels.{name} in {path}"):
        _check_known(key, [entry.name for entry in fields(ChannelConfig)], f"channels.{name}.{key} in {path}")
    return ChannelConfig(**keys)


def _read_environment(environment: Mapping[str, str]) -> list[tuple[str, str, str]]:
    values = []
    settings = {
        f"{ENVIRONMENT}{section}_{entry.name}".upper(): (section, entry.name)
        for section, values in SECTIONS.items()
        for entry in fields(values)
    }
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT) and name not in NOT_SETTINGS:
            _check_known(name, settings, name)
            values.append((*settings[name], text))
    return values


def _set_key(config: Config, section: str, key: str, value: Any, name: str) -> Config:
    old = getattr(config, section)
    _check_known(key, [entry.name for entry in fields(old)], name)
    expected = type(getattr(old, key))
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, expected) or isinstance(value, bool):
        raise ConfigError(f"{name} must be {_describe_type(expected)}, not {value!r}.", field=key)
    return replace(config, **{section: replace(old, **{key: value})})


def _parse_value(text: str, old: Any, name: str) -> Any:
    try:
        return json.loads(text) if isinstance(old, dict | list) else type(old)(text)
    except ValueError as error:
        raise ConfigError(f"{name} must be {_describe_type(type(old))}, not {text!r}.", field=name) from error


def _describe_type(type_: type) -> str:
    return {int: "a whole number", float: "a number", str: "a text", dict: "a table of numbers", list: "a list"}[type_]


def _check_known(name: str, names: Any, where: str) -> None:
    if name in names:
        return
    # Without the prefix, which would make all of them similar.
    bare = {full.removeprefix(ENVIRONMENT): full for full in names}
    nearest = find_nearest(name.removeprefix(ENVIRONMENT), bare)
    hint = f"Did you mean {bare[nearest]}?" if nearest else f"Use one of: {', '.join(sorted(names))}."
    raise ConfigError(f"Unknown setting {where}. {hint}", field=name)


def _check_config(config: Config) -> Config:
    worker, queue = config.worker, config.queue
    for name, value in (
        ("database.connections", config.database.connections),
        ("database.statement_timeout", config.database.statement_timeout),
        ("worker.concurrency", worker.concurrency),
        ("worker.heartbeat", worker.heartbeat),
        ("worker.lease", worker.lease),
        ("worker.stall", worker.stall),
        ("queue.max_attempts", queue.max_attempts),
        ("retention.finished_days", config.retention.finished_days),
        ("retention.dead_letter_days", config.retention.dead_letter_days),
        ("retention.event_days", config.retention.event_days),
        ("publishing.timeout_factor", config.publishing.timeout_factor),
        ("publishing.send_within", config.publishing.send_within),
        ("publishing.cap", config.publishing.cap),
        ("publishing.give_up_after", config.publishing.give_up_after),
        ("api.burst", config.api.burst),
        ("api.read_timeout", config.api.read_timeout),
    ):
        if value <= 0:
            raise ConfigError(f"{name} must be greater than 0, not {value}.", field=name)
    _check_minimum(config.api.rate, 0, "api.rate")
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
            _check_known(key, MIN_BACKOFF, f"{where}.retry_backoff.{key}")
            _check_minimum(value, MIN_BACKOFF[key], f"{where}.retry_backoff.{key}")
    for setting, texts in (
        ("networks.plugins", config.networks.plugins),
        ("networks.allowed_private_origins", config.networks.allowed_private_origins),
    ):
        if not all(isinstance(text, str) for text in texts):
            raise ConfigError(f"{setting} must be a list of texts, not {texts!r}.", field=setting)
    for origin in config.networks.allowed_private_origins:
        if not ORIGIN.fullmatch(origin):
            message = f"networks.allowed_private_origins: {origin!r} is not an origin such as http://10.0.0.7:8080."
            raise ConfigError(message, field="networks.allowed_private_origins")
    if not config.database_url.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise ConfigError("database.url must start with sqlite:/// or postgresql://.", field="database.url")
    return config


def _check_minimum(value: Any, least: float, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
        raise ConfigError(f"{name} must be a number of at least {least}, not {value!r}.", field=name)


def get_user_data_dir(environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "postino"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA", Path.home())) / "postino"
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "postino"
