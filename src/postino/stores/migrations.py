"""Numbered SQL with checksums: what a database must have before this program uses it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from postino.errors import SchemaMismatch


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    folder = files("postino.stores") / "sql" / dialect / "migrations"
    found = [
        Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), entry.read_text())
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def missing(known: Iterable[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """What is still to be applied, given the numbers and checksums that the database says it has."""
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
    lacking = missing(known, applied)
    if lacking:
        raise SchemaMismatch(
            f"The database has {len(applied)} of {len(applied) + len(lacking)} migrations."
            " Run `postino migrate` first; jobs are kept as they are."
        )
