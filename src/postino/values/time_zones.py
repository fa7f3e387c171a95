"""Time zones, from the tzdata package and not from the machine.

A post is scheduled on one machine and shown on another: both machines must compute the same instant, and
the zone data of an old machine may be out of date. A process reads each zone once.
"""

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from postino.errors import WrongUse
from postino.values.suggestions import find_nearest
from postino.values.text import MAX_QUOTED


@cache
def list_zone_names() -> frozenset[str]:
    """Return all names, old spellings included."""
    return frozenset((files("tzdata") / "zones").read_text().split())


def get_zone(name: str, field: str = "timezone") -> ZoneInfo:
    """Return the zone with this name. Raises WrongUse, for this field, with the nearest known name."""
    if name not in list_zone_names():
        name = name[:MAX_QUOTED]
        near = suggest_zone(name)
        hint = f"Did you mean {near}?" if near else "Zones have names like Europe/Rome or America/New_York."
        raise WrongUse(f"There is no time zone {name!r}. {hint}", field=field)
    return _load_zone(name)


def suggest_zone(name: str) -> str | None:
    """Return the zone with the most similar spelling: Europe/Rome for `rome`."""
    nearest = find_nearest("_".join(name.split()).lower(), _index_spellings(), cutoff=0.75)
    return None if nearest is None else _index_spellings()[nearest]


@cache
def _index_spellings() -> dict[str, str]:
    names = sorted(name for name in list_zone_names() if "GMT" not in name)  # Etc/GMT+2 is two hours *behind* GMT
    cities = {name.rpartition("/")[2].lower(): name for name in reversed(names)}
    return cities | {name.lower(): name for name in names}


@cache
def _load_zone(name: str) -> ZoneInfo:
    with (files("tzdata.zoneinfo") / name).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)
