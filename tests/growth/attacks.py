"""Inputs that make a regular expression backtrack, made from the expression itself."""

import re
import re._constants as opcode  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

SPECIMENS = "a 1-._/@#:<>&{}[]()\"'\n\t\0Aé\u0301\u200d\U0001f1e6\ud800"  # one of these matches most negated sets
GRAPHEMES = "\U0001f1e6\u0301\u200d👍\u0600क"  # each is joined with others by another rule
MAX_WORDS = 6  # examples of one part
ENDS = ("", "\0", "\n", "!", "a")
SEPARATORS = (" ", "\n", "\0")
CATEGORIES = {
    opcode.CATEGORY_DIGIT: "1", opcode.CATEGORY_NOT_DIGIT: "a", opcode.CATEGORY_SPACE: " ",
    opcode.CATEGORY_NOT_SPACE: "a", opcode.CATEGORY_WORD: "a", opcode.CATEGORY_NOT_WORD: ".",
}  # fmt: skip
REPEATS = (opcode.MAX_REPEAT, opcode.MIN_REPEAT, opcode.POSSESSIVE_REPEAT)
Words = tuple[str, ...]


def list_attacks(pattern: str | bytes, flags: int = 0) -> list[Callable[[int], str]]:
    """Return functions from a number of characters to an input of that length."""
    text = pattern.decode() if isinstance(pattern, bytes) else pattern
    tree = parser.parse(to_standard(text), flags & re.VERBOSE)
    words: dict[tuple[str, str, str], None] = dict.fromkeys(("", word, "") for word in spell(tree))
    for before, pumps in list_repeats(tree, ("",)):
        for start in before:
            for pump in pumps:
                words |= dict.fromkeys((start, pump, end) for end in ENDS)
                words[("", start + pump, "")] = None
                words |= dict.fromkeys(("", start + pump + separator, "") for separator in SEPARATORS)
                words[("", start, pump)] = None
        words |= dict.fromkeys((before[0], one + other, end) for one in pumps for other in pumps for end in ENDS[:2])
    return [partial(repeat, start, pump, end) for start, pump, end in words if pump]


def repeat(start: str, pump: str, end: str, size: int) -> str:
    return (start + pump * (size // len(pump) + 1))[:size] + end


def to_standard(pattern: str) -> str:
    """Replace what only the package `regex` knows with something of the same shape."""
    return re.sub(r"\\p\{[\w=]+\}", r"\\w", pattern).replace(r"\X", f"(?:[{GRAPHEMES}])*")


def list_repeats(items: Iterable[Any], before: Words) -> Iterator[tuple[Words, Words]]:
    """Yield every repeated part: examples of what precedes it, and examples of the part itself."""
    for operation, argument in items:
        for inner in list_parts(operation, argument):
            yield from list_repeats(inner, before)
        if operation in REPEATS:
            yield before, spell(argument[2])
        before = combine(before, spell_item(operation, argument))


def list_parts(operation: Any, argument: Any) -> list[Any]:
    if operation is opcode.BRANCH:
        return list(argument[1])
    if operation is opcode.ATOMIC_GROUP:
        return [argument]
    if operation is opcode.SUBPATTERN:
        return [argument[-1]]
    return [argument[2]] if operation in REPEATS else []


def spell(items: Iterable[Any]) -> Words:
    """Return examples of texts that these parts match."""
    words: Words = ("",)
    for operation, argument in items:
        words = combine(words, spell_item(operation, argument))
    return words


def spell_item(operation: Any, argument: Any) -> Words:
    if operation is opcode.LITERAL:
        return (chr(argument),)
    if operation is opcode.NOT_LITERAL:
        return tuple(one for one in SPECIMENS if ord(one) != argument)[:MAX_WORDS]
    if operation is opcode.ANY:
        return ("a", " ", "\u0301", "\U0001f1e6")
    if operation is opcode.IN:
        return spell_set(argument)
    if operation in REPEATS:
        least, _, inner = argument
        once = spell(inner)
        return limit(("", *once) if least == 0 else tuple(word * least for word in once))
    parts = list_parts(operation, argument)
    return limit(tuple(word for part in parts for word in spell(part))) or ("",)


def spell_set(members: list[Any]) -> Words:
    if members[0][0] is opcode.NEGATE:
        return limit(tuple(one for one in SPECIMENS if not any(contains(member, one) for member in members[1:])))
    firsts = ((kind, value[0] if kind is opcode.RANGE else value) for kind, value in members)
    return limit(tuple(CATEGORIES[value] if kind is opcode.CATEGORY else chr(value) for kind, value in firsts))


def contains(member: Any, one: str) -> bool:
    kind, value = member
    if kind is opcode.RANGE:
        return bool(value[0] <= ord(one) <= value[1])
    if kind is opcode.LITERAL:
        return bool(ord(one) == value)
    sign = {"1": r"\d", "a": r"\w", " ": r"\s", ".": r"\W"}[CATEGORIES[value]]
    return re.fullmatch(sign, one) is not None


def combine(before: Words, after: Words) -> Words:
    return limit(tuple(first + second for first in before for second in after))


def limit(words: Words) -> Words:
    """Return some of the words, from the whole list."""
    distinct = tuple(dict.fromkeys(words))
    step = max(1, len(distinct) // MAX_WORDS)
    return distinct[::step][:MAX_WORDS]
