"""Migrations: numbered SQL files that a database must have before this program uses it.

They are applied in order, each once, and recorded with their checksums. A migration that was released is never changed.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from postino.errors import SchemaMismatch

# Executed if no migration is missing: an empty database may be the copy of another one.
LOCATE_UNUSED = "locate_unused_database"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the migrations of a dialect in order."""
    folder = files("postino.stores") / "sql" / dialect / "migrations"
    migrations = [
        Migration(int(path.name[:4]), path.name.removesuffix(".sql"), path.read_text())
        for path in folder.iterdir()
        if path.name.endswith(".sql")
    ]
    return tuple(sorted(migrations, key=lambda migration: migration.number))


def find_missing(known: Iterable[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """Return the migrations that a database lacks, given the numbers and checksums of those it has.

    Raises SchemaMismatch where the database has a migration that this program does not know, or another text of one.
    """
    by_number = {migration.number: migration for migration in known}
    newer = sorted(applied.keys() - by_number.keys())
    if newer:
        raise SchemaMismatch(
            f"The database's schema is version {newer[-1]}, newer than this program, which knows version"
            f" {max(by_number)}. Nothing was changed. Upgrade Postino on this machine."
        )
    for number, checksum in applied.items():
        if by_number[number].checksum != checksum:
            raise SchemaMismatch(
                f"Migration {by_number[number].name} was changed after it was applied to this database."
                " Nothing was changed. Use the release of Postino that made the database, or one after it."
            )
    return [migration for number, migration in sorted(by_number.items()) if number not in applied]


def check_complete(known: Iterable[Migration], applied: Mapping[int, str]) -> None:
    """Raise SchemaMismatch unless a database has every migration."""
    missing = find_missing(known, applied)
    if missing:
        raise SchemaMismatch(
            f"The database has {len(applied)} of {len(applied) + len(missing)} migrations."
            " Run `postino migrate` first; jobs are kept as they are."
        )
