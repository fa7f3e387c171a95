"""Normalize hashtags, and append those that the text does not contain yet."""

from collections.abc import Iterable, Sequence

import regex

from postino.values.content import Problem, Severity
from postino.values.text import normalize_unicode

SIGNS = "#＃"
LETTER = r"[\p{L}\p{M}\p{N}_]"
TAG = regex.compile(f"{LETTER}+")
TAG_IN_TEXT = regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}_&/{SIGNS}])[{SIGNS}]({LETTER}+)")  # not &#39; nor page#part
LAST_LINE_OF_TAGS = regex.compile(rf"(?:^|\n)[ \t]*[{SIGNS}]{LETTER}+(?:[ \t]+[{SIGNS}]{LETTER}+)*\Z")


def normalize_tag(written: str) -> str:
    """Return a hashtag without its sign and spaces: `# New York ` is `NewYork`."""
    return normalize_unicode("".join(written.split())).lstrip(SIGNS)


def normalize_tags(written: Iterable[str]) -> tuple[str, ...]:
    """Return the hashtags in order, each in its first spelling; `#Rome` and `#rome` are one."""
    tags: dict[str, str] = {}
    for tag in map(normalize_tag, written):
        tags.setdefault(_fold_tag(tag), tag)
    tags.pop("", None)
    return tuple(tags.values())


def find_tags(text: str) -> tuple[str, ...]:
    """Return the hashtags that a network finds in a text."""
    return normalize_tags(dict.fromkeys(TAG_IN_TEXT.findall(text)))


def append_tags(parts: Sequence[str], tags: Iterable[str]) -> str:
    """Return the first part with the hashtags appended that no part contains yet."""
    tags = tuple(tags)
    if not tags:
        return parts[0]
    there = {_fold_tag(tag) for part in parts for tag in (*find_tags(part), *_find_tag_words(part))}
    line = " ".join(f"#{tag}" for tag in tags if _fold_tag(tag) not in there)
    text = parts[0]
    if not (text and line):
        return text or line
    return f"{text} {line}" if LAST_LINE_OF_TAGS.search(text) else f"{text}\n\n{line}"


def check_tags(written: Iterable[str], where: str) -> list[Problem]:
    """Return warnings about hashtags that networks would cut or ignore."""
    return [
        Problem(Severity.WARNING, where, message)
        for tag in normalize_tags(written)
        if (message := _describe_problem(tag)) is not None
    ]


def _describe_problem(tag: str) -> str | None:
    if (head := TAG.match(tag)) is None:
        return f"“#{tag}” is not a hashtag: only letters, digits and “_” are allowed. Change it or remove it."
    if head.end() < len(tag):
        stop = tag[head.end()]
        return f"“#{tag}” would be cut to “#{head[0]}”: a hashtag cannot contain “{stop}”. Remove it."
    if tag.isdigit():
        return f"“#{tag}” has only digits, and most networks ignore such hashtags. Add a letter."
    return None


def _find_tag_words(text: str) -> list[str]:
    """Return words that were meant as hashtags, although no network recognises them."""
    return [word[1:] for word in text.split() if word[0] in SIGNS]  # one sign only: networks ignore `##rome`


def _fold_tag(tag: str) -> str:
    return normalize_unicode(tag).casefold()
