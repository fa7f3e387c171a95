"""Parse days of the week: names, numbers and ranges."""

from collections.abc import Iterator

from postino.errors import WrongUse

WEEK = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
DAYS = tuple(name[:3] for name in WEEK)
NUMBERS = {name: day for day in range(len(WEEK)) for name in (WEEK[day], DAYS[day], str(day))}


def parse_days(text: str | None) -> list[int] | None:
    """Parse `sat,sun`, `mon-fri` or `Friday-1`. 0 is Sunday; a range may wrap around the weekend."""
    if text is None:
        return None
    return sorted({day for part in text.split(",") for day in expand_days(part)})


def expand_days(part: str) -> Iterator[int]:
    first, dash, last = part.partition("-")
    start = parse_day(first, part)
    length = (parse_day(last, part) - start) % len(WEEK) if dash else 0
    return (day % len(WEEK) for day in range(start, start + length + 1))


def parse_day(word: str, text: str) -> int:
    number = NUMBERS.get(word.strip().lower())
    if number is None:
        expected = "names such as sat or Saturday, numbers from 0 (Sunday) to 6, or ranges such as mon-fri"
        raise WrongUse(f"--days: {text.strip()!r:.200} is not a day. Use {expected}, with commas.", field="days")
    return number
