"""Where a process has its vault keys from: the environment, or a file."""

import base64
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from postino.vault.key_file import HEADER, KEY_BYTES, KeyFileRefused, parse_keys, read_if_exists, read_or_create

VARIABLE = "POSTINO_VAULT_KEY"
SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class KeySource:
    """The keys in `text`, or without it those of the file. The last key is current."""

    path: Path
    text: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"the environment variable {VARIABLE}" if self.text else str(self.path)

    def read(self) -> list[bytes]:
        """Return the keys; none if the file does not exist. Raises KeyFileRefused."""
        return parse_variable(self.text) if self.text else read_if_exists(self.path)

    def read_or_create(self) -> list[bytes]:
        """Return the keys. A missing file is created with a new key."""
        return self.read() if self.text else read_or_create(self.path)


def parse_variable(text: str) -> list[bytes]:
    """Return keys in base64, separated by spaces or commas, or those of the lines of a key file."""
    if HEADER in text:
        return parse_keys(text.encode(), Path(VARIABLE))
    keys = []
    for part in SEPARATOR.split(text.strip()):
        with suppress(ValueError):
            key = base64.b64decode(part, validate=True)
            if len(key) == KEY_BYTES:
                keys.append(key)
                continue
        raise KeyFileRefused(
            f"{VARIABLE} is not a vault key: it must be {KEY_BYTES} bytes in base64, or the content of a vault.key."
            " Nothing was opened."
        )
    return keys
