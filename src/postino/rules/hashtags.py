"""How hashtags are written: without doubles, and not again where the text already says them."""

import unicodedata
from collections.abc import Iterable, Sequence

import regex

from postino.values.content import Problem, Severity

SIGNS = "#＃"
LETTER = r"[\p{L}\p{M}\p{N}_]"
TAG = regex.compile(f"{LETTER}+")
TAG_IN_TEXT = regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}_&/{SIGNS}])[{SIGNS}]({LETTER}+)")  # not &#39; nor page#part
LAST_LINE_OF_TAGS = regex.compile(rf"(?:^|\n)[ \t]*[{SIGNS}]{LETTER}+(?:[ \t]+[{SIGNS}]{LETTER}+)*\Z")


def normalize_tag(written: str) -> str:
    """A hashtag without its sign and spaces: `# New York ` is `NewYork`."""
    return unicodedata.normalize("NFC", "".join(written.split())).lstrip(SIGNS)


def normalize_tags(written: Iterable[str]) -> tuple[str, ...]:
    """In their order, the first spelling of each; `#Rome` and `#rome` are one."""
    tags: dict[str, str] = {}
    for tag in map(normalize_tag, written):
        tags.setdefault(_fold_tag(tag), tag)
    tags.pop("", None)
    return tuple(tags.values())


def find_tags(text: str) -> tuple[str, ...]:
    """Those a network would find in a text."""
    return normalize_tags(TAG_IN_TEXT.findall(text))


def append_tags(parts: Sequence[str], tags: Iterable[str]) -> str:
    """The first part with those hashtags at its end that no part says yet."""
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
    """Hashtags that networks would cut or not see."""
    return [
        Problem(Severity.WARNING, where, said)
        for tag in normalize_tags(written)
        if (said := _describe_problem(tag)) is not None
    ]


def _describe_problem(tag: str) -> str | None:
    if (head := TAG.match(tag)) is None:
        return f"“#{tag}” is no hashtag: networks take letters, digits and “_”. Write it otherwise, or leave it out."
    if head.end() < len(tag):
        stop = tag[head.end()]
        return f"“#{tag}” would be cut to “#{head[0]}”: no “{stop}” can be in a hashtag. Write it without."
    if tag.isdigit():
        return f"“#{tag}” has only digits, and most networks take that for a number: add a letter."
    return None


def _find_tag_words(text: str) -> list[str]:
    """What was meant for a hashtag, though no network would take it for one."""
    return [word.lstrip(SIGNS) for word in text.split() if word[0] in SIGNS]


def _fold_tag(tag: str) -> str:
    return unicodedata.normalize("NFC", tag).casefold()
