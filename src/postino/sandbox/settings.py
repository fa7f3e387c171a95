"""The settings of a running sandbox: how long things take, and how much is allowed."""

from collections.abc import Mapping
from typing import Any

import apsw

from postino.errors import WrongUse
from postino.sandbox.networks import default_settings


def read_settings(connection: apsw.Connection) -> dict[str, float]:
    return {**default_settings(), **dict(connection.execute("SELECT name, value FROM settings"))}


def change_settings(connection: apsw.Connection, changes: Mapping[str, Any]) -> dict[str, float]:
    """Change settings; None restores a default. Raises WrongUse for an unknown setting or a wrong value."""
    known = default_settings()
    for name, value in changes.items():
        if name not in known:
            raise WrongUse(f"There is no setting {name}. The settings are {', '.join(known)}.", name)
        if value is None:
            connection.execute("DELETE FROM settings WHERE name = ?", (name,))
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e9:
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
        else:
            raise WrongUse(f"{name} must be a number from 0, not {value!r}.", name)
    return read_settings(connection)
