"""Check the names, roles and brands of users and API keys. A refusal names the field that is wrong."""

import re
from collections.abc import Collection

from postino.errors import WrongUse
from postino.values.auth import Role
from postino.values.text import normalize_unicode

MAX_NAME, MAX_BRANDS, MAX_BRAND = 100, 100, 500  # characters, brands, characters
MAX_JOB_TYPES = 100
ALL_TYPES = "*"
USER_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")


def normalize_name(name: str) -> str:
    """Return a user name as it is stored: trimmed, composed and in lower case."""
    return normalize_unicode(name.strip()).casefold()


def check_user_name(name: str) -> str:
    """Return the normalized user name. Raises WrongUse if it is empty, too long or has other characters."""
    if not USER_NAME.fullmatch(normalize_name(name)):
        message = f"name: a user name has 1 to {MAX_NAME} characters from a to z, 0 to 9 and . _ @ + -"
        raise WrongUse(f"{message}, and begins with a letter or a digit.", "name")
    return normalize_name(name)


def check_key_name(name: str) -> str:
    """Return the trimmed name of an API key. Raises WrongUse unless it is one line of 1 to 100 characters."""
    if not 0 < len(name.strip()) <= MAX_NAME or not name.isprintable():
        raise WrongUse(f"name: describe in 1 to {MAX_NAME} characters, on one line, what the key is for.", "name")
    return name.strip()


def parse_brands(brands: Collection[str] | None) -> frozenset[str] | None:
    """Return the brands a user or key is restricted to; None means all brands."""
    if brands is None:
        return None
    if not 0 < len(brands) <= MAX_BRANDS:
        raise WrongUse(f"brands: name 1 to {MAX_BRANDS} brands, or leave it out for all.", "brands")
    for number, brand in enumerate(brands):
        if not 0 < len(brand) <= MAX_BRAND:
            raise WrongUse(f"brands[{number}]: a brand has 1 to {MAX_BRAND} characters.", f"brands[{number}]")
    return frozenset(brands)


def parse_job_types(job_types: Collection[str] | None, role: Role) -> frozenset[str] | None:
    """Return the types of jobs that a key may queue; None means all. Left out: all for an owner, otherwise none."""
    if job_types is None:
        return None if role is Role.OWNER else frozenset()
    if len(job_types) > MAX_JOB_TYPES:
        raise WrongUse(f"job_types: name at most {MAX_JOB_TYPES} types, or {ALL_TYPES!r} for all.", "job_types")
    for number, name in enumerate(job_types):
        if not 0 < len(name) <= MAX_NAME or not name.isprintable():
            where = f"job_types[{number}]"
            raise WrongUse(f"{where}: the type of a job has 1 to {MAX_NAME} characters, on one line.", where)
    if job_types and role is Role.VIEWER:
        raise WrongUse("job_types: a viewer queues no jobs. Choose the role editor, or leave it out.", "job_types")
    return None if ALL_TYPES in job_types else frozenset(job_types)


def parse_role(text: str) -> Role:
    if text not in [*Role]:
        raise WrongUse(f"role: {text[:40]!r} is not a role. Use one of: {', '.join(Role)}.", "role")
    return Role(text)
