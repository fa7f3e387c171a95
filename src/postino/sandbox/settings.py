"""What may be made shorter or smaller while the sandbox runs: how long things take, and how much is allowed."""

from collections.abc import Mapping
from typing import Any

import apsw

from postino.errors import WrongUse
from postino.sandbox.networks import default_settings


def settings(connection: apsw.Connection) -> dict[str, float]:
    return {**default_settings(), **dict(connection.execute("SELECT name, value FROM settings"))}


def change(connection: apsw.Connection, told: Mapping[str, Any]) -> dict[str, float]:
    """None brings the default back."""
    known = default_settings()
    for name, value in told.items():
        if name not in known:
            raise WrongUse(f"There is no setting {name}; there are {', '.join(known)}.", name)
        if value is None:
            connection.execute("DELETE FROM settings WHERE name = ?", (name,))
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e9:
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
        else:
            raise WrongUse(f"{name} is a number from 0, not {value!r}.", name)
    return settings(connection)
