"""Decide whether a text read back from a network is the text that was sent."""

import html
import re

from postino.values.text import normalize_unicode

TAG = re.compile(r"<[^>]*+(>?)")  # or, without its end, the rest of the text
LINE_BREAK = re.compile(r"<br\s*/?>|</p\s*>", re.IGNORECASE)
# Servers show a mention without the server of the account.
MENTION = re.compile(r"@(\w+)@[\w.-]+\w")
MAX_PAGE = 500_000  # characters; a text that Postino accepts becomes less HTML


def normalise(text: str) -> str:
    """Remove the differences that networks make: white space and Unicode normalisation."""
    return " ".join(normalize_unicode(text).split())


def is_same_text(sent: str, received: str) -> bool:
    return normalise(sent) == normalise(received)


def is_same_as_html(sent: str, page: str) -> bool:
    """Compare a text with the HTML a network made of it."""
    if len(page) > MAX_PAGE:
        return False
    try:
        plain = html.unescape(strip_tags(LINE_BREAK.sub("\n", page)))
    except ValueError:  # the number of a character has thousands of digits
        return False
    return is_same_text(MENTION.sub(r"@\1", sent), MENTION.sub(r"@\1", plain))


def strip_tags(page: str) -> str:
    """Remove all tags. A `<` without a `>` after it is text."""
    return TAG.sub(lambda found: "" if found[1] else found[0], page)
