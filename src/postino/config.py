"""Settings, read once: postino.toml < environment < flags → one frozen value. Absent stays absent."""

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
    connections: int = 4
    statement_timeout: float = 5.0


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    concurrency: int = 200
    heartbeat: float = 5.0
    lease: float = 20.0
    poll: float = 1.0
    drain: float = 30.0
    stall: float = 60.0


@dataclass(frozen=True, slots=True)
class QueueConfig:
    max_attempts: int = 5
    retry_backoff: Mapping[str, float] = field(default_factory=lambda: {"base": 60, "factor": 2, "max": 3600})
    time_limit: float = 0  # seconds; 0 is none
    blackout_windows: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How many days things are kept once they are over; keys are kept for ever."""

    finished_days: int = 180
    dead_letter_days: int = 90
    event_days: int = 30


@dataclass(frozen=True, slots=True)
class PublishingConfig:
    poll_timeout_factor: float = 1.0  # times how long networks are waited for, each for its own time
    send_within: float = 5.0  # seconds between the intent to send and the sending
    cap: int = 50  # calls of one network under way at once, over all workers
    give_up_after: float = 21_600.0  # seconds a post waits for a network in trouble, if it has no publish_until


@dataclass(frozen=True, slots=True)
class CircuitsConfig:
    """When a service counts as in trouble, and for how long it is left alone; 0 is as the profile says."""

    profile: str = ""  # default, openai or adr013; "": each service its own
    failure_threshold: int = 0
    window: float = 0  # seconds
    open_timeout: float = 0  # seconds
    half_open_max_attempts: int = 0
    max_open_timeout: float = 0  # seconds


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """How many requests each key may make, and how long one may take to come in."""

    rate: float = 100.0  # in a second; 0 is as many as it likes
    burst: int = 1000  # at once
    read_timeout: float = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    url: str = ""  # where the simulated networks are; "": there are none


@dataclass(frozen=True, slots=True)
class NetworksConfig:
    plugins: list[str] = field(default_factory=list)  # module:attribute of each network that does not come with Postino
    allowed_private_origins: list[str] = field(default_factory=list)  # origins of accounts' servers that are not public


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """What a channel says about retrying, its cap and its circuit; absent stays absent."""

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
    """The settings in force. `flags` are given as sections of keys, like the file."""
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
    """An address as it may be shown: neither user nor password, nor what follows a question mark."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def _read_file(config: Config, path: Path) -> Config:
    try:
        told = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return config
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    channels = _require_table(told.pop("channels", {}), f"channels in {path}")
    for section, keys in told.items():
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
    found = []
    settings = {
        f"{ENVIRONMENT}{section}_{entry.name}".upper(): (section, entry.name)
        for section, values in SECTIONS.items()
        for entry in fields(values)
    }
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT) and name not in NOT_SETTINGS:
            _check_known(name, settings, name)
            found.append((*settings[name], text))
    return found


def _set_key(config: Config, section: str, key: str, value: Any, name: str) -> Config:
    old = getattr(config, section)
    _check_known(key, [entry.name for entry in fields(old)], name)
    wanted = type(getattr(old, key))
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise ConfigError(f"{name} must be {_describe_type(wanted)}, not {value!r}.", field=key)
    return replace(config, **{section: replace(old, **{key: value})})


def _parse_value(text: str, old: Any, name: str) -> Any:
    try:
        return json.loads(text) if isinstance(old, dict | list) else type(old)(text)
    except ValueError as error:
        raise ConfigError(f"{name} must be {_describe_type(type(old))}, not {text!r}.", field=name) from error


def _describe_type(wanted: type) -> str:
    return {int: "a whole number", float: "a number", str: "a text", dict: "a table of numbers", list: "a list"}[wanted]


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
        ("publishing.poll_timeout_factor", config.publishing.poll_timeout_factor),
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
            " a worker that is only slow would be taken for dead.",
            field="worker.heartbeat",
        )
    for where, backoff in [("queue", queue.retry_backoff)] + [
        (f"channels.{name}", entry.retry_backoff) for name, entry in config.channels.items() if entry.retry_backoff
    ]:
        for key, value in backoff.items():
            _check_known(key, MIN_BACKOFF, f"{where}.retry_backoff.{key}")
            _check_minimum(value, MIN_BACKOFF[key], f"{where}.retry_backoff.{key}")
    for setting, said in (
        ("networks.plugins", config.networks.plugins),
        ("networks.allowed_private_origins", config.networks.allowed_private_origins),
    ):
        if not all(isinstance(text, str) for text in said):
            raise ConfigError(f"{setting} must be a list of texts, not {said!r}.", field=setting)
    for origin in config.networks.allowed_private_origins:
        if not ORIGIN.fullmatch(origin):
            told = f"networks.allowed_private_origins: {origin!r} must be scheme, host and port alone, such as http://10.0.0.7:8080."
            raise ConfigError(told, field="networks.allowed_private_origins")
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
