"""What the database is: a copy, a restored backup, or the one that workers know."""

from __future__ import annotations

from typing import Literal

from postino.client.endpoints import Resource, SessionT, call
from postino.client.messages import ApiRequest, get, post
from postino.client.types.database import AcceptedDatabaseView, DatabaseView
from postino.client.types.requests import Instant


class Database(Resource[SessionT]):
    """Whether Postino sends from its database."""

    @call
    def get(self) -> ApiRequest[DatabaseView]:
        """Return whether Postino sends from the database, and if not, why."""
        return get("database")

    @call
    def accept(
        self, answer: Literal["moved", "copy", "restored"], *, reason: str, at: Instant | None = None
    ) -> ApiRequest[AcceptedDatabaseView]:
        """Say what the database is. With `restored`, what happened after `at` is lost."""
        return post("database", "accept", answer=answer, reason=reason, at=at)
