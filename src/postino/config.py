"""Read the settings once: postino.toml < environment < flags, as one frozen value.

It checks names, types and ranges. It opens no database and imports no plug-in.
"""

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from postino.config_checks import ENVIRONMENT, check_config, check_known, describe_type
from postino.data_dir import check_data_dir
from postino.errors import ConfigError

SWITCH = "POSTINO_PUBLISHING"
NOT_SETTINGS = frozenset(
    {
        "POSTINO_DATA_DIR",
        "POSTINO_STATE_DIR",
        "POSTINO_APP",
        "POSTINO_CRASH",
        "POSTINO_SERVER",
        "POSTINO_API_KEY",
        SWITCH,
    }
)
TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    url: str = ""  # "": postino.db in the data directory
    connections: int = 4  # PostgreSQL connections per process
    statement_timeout: float = 5.0  # seconds
    listen_url: str = ""  # PostgreSQL without a pooler between, for wake-ups; "": the same as url
    transaction_warning: float = 60.0  # seconds after which a transaction that delays events is reported


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Durations are in seconds."""

    concurrency: int = 200  # maximum jobs that run at once
    heartbeat: float = 5.0  # time between two heartbeats
    lease: float = 20.0  # other workers take over after this long without a heartbeat
    poll: float = 1.0  # longest wait between two polls; at most 1, the delay that a lost wake-up may cause
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
    timeout_factor: float = 1.0  # multiplies each network's response timeout and listing delay
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
    """Rate limits, the time limit for receiving a request, and which proxies name the client."""

    rate: float = 100.0  # requests per second; 0 means no limit
    burst: int = 1000  # requests at once
    read_timeout: float = 20.0  # seconds
    streams: int = 200  # event streams at once of an API key, a user or a brand; four times as many of an address
    trusted_proxies: list[str] = field(default_factory=list)  # addresses whose X-Forwarded-For is believed


@dataclass(frozen=True, slots=True)
class WitnessConfig:
    trust_database: bool = False  # a machine without a memory of the database uses it without asking


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
class OutboundConfig:
    http_origins: list[str] = field(default_factory=list)  # public account servers without TLS


@dataclass(frozen=True, slots=True)
class VaultConfig:
    """The key to the credentials. The file is vault.key in the data directory unless one of these is set."""

    key: str = field(default="", repr=False)  # in base64, or the content of a vault.key
    key_file: str = ""


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
    outbound: OutboundConfig = field(default_factory=OutboundConfig)
    witness: WitnessConfig = field(default_factory=WitnessConfig)
    vault: VaultConfig = field(default_factory=VaultConfig)
    channels: Mapping[str, ChannelConfig] = field(default_factory=dict)
    is_publishing: bool = True  # False: workers claim nothing

    @property
    def vault_key_path(self) -> Path:
        return Path(self.vault.key_file).expanduser() if self.vault.key_file else self.data_dir / "vault.key"

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
    "vault": VaultConfig,
    "api": ApiConfig,
    "networks": NetworksConfig,
    "outbound": OutboundConfig,
    "witness": WitnessConfig,
}


def load_config(
    data_dir: Path | None = None,
    flags: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """Return the settings in force. `flags` are sections of keys, like the file. Raises ConfigError."""
    folder = data_dir or Path(environment.get("POSTINO_DATA_DIR") or get_user_data_dir(environment))
    folder = folder.expanduser().absolute()
    check_data_dir(folder)
    is_publishing = _parse_truth(environment.get(SWITCH) or "on", SWITCH)
    config = _read_file(Config(folder, is_publishing=is_publishing), folder / "postino.toml")
    for section, key, text in _read_environment(environment):
        name = f"{ENVIRONMENT}{section}_{key}".upper()
        config = _set_key(config, section, key, _parse_value(text, getattr(getattr(config, section), key), name), name)
    for section, keys in (flags or {}).items():
        for key, value in keys.items():
            if value is not None:
                config = _set_key(config, section, key, value, f"{section}.{key}")
    return check_config(config)


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
        check_known(section, SECTIONS, f"section [{section}] in {path}")
        for key, value in _require_table(keys, f"{section} in {path}").items():
            config = _set_key(config, section, key, value, f"{section}.{key} in {path}")
    return replace(config, channels={name: _read_channel(name, keys, path) for name, keys in channels.items()})


def _require_table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be a table of settings, not {value!r}.", field=name)
    return value


def _read_channel(name: str, keys: Any, path: Path) -> ChannelConfig:
    for key in _require_table(keys, f"channels.{name} in {path}"):
        check_known(key, [entry.name for entry in fields(ChannelConfig)], f"channels.{name}.{key} in {path}")
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
            check_known(name, settings, name)
            values.append((*settings[name], text))
    return values


def _set_key(config: Config, section: str, key: str, value: Any, name: str) -> Config:
    old = getattr(config, section)
    check_known(key, [entry.name for entry in fields(old)], name)
    expected = type(getattr(old, key))
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, expected) or isinstance(value, bool) is not (expected is bool):
        raise ConfigError(f"{name} must be {describe_type(expected)}, not {value!r}.", field=key)
    return replace(config, **{section: replace(old, **{key: value})})


def _parse_value(text: str, old: Any, name: str) -> Any:
    if isinstance(old, bool):
        return _parse_truth(text, name)
    try:
        return json.loads(text) if isinstance(old, dict | list) else type(old)(text)
    except ValueError as error:
        raise ConfigError(f"{name} must be {describe_type(type(old))}, not {text!r}.", field=name) from error


def _parse_truth(text: str, name: str) -> bool:
    truth = TRUTHS.get(text.strip().lower())
    if truth is None:
        raise ConfigError(f"{name} must be on or off, not {text!r}.", field=name)
    return truth


def get_user_data_dir(environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "postino"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA", Path.home())) / "postino"
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "postino"
