"""Decide whether a text read back from a network is the text that was sent."""

import html
import re
import unicodedata

TAG = re.compile(r"<[^>]*>")
LINE_BREAK = re.compile(r"<br\s*/?>|</p\s*>", re.IGNORECASE)
# Servers show a mention without the server of the account.
MENTION = re.compile(r"@(\w+)@[\w.-]+\w")


def normalise(text: str) -> str:
    """Remove the differences that networks make: white space and Unicode normalisation."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def is_same_text(sent: str, received: str) -> bool:
    return normalise(sent) == normalise(received)


def is_same_as_html(sent: str, page: str) -> bool:
    """Compare a text with the HTML a network made of it."""
    plain = html.unescape(TAG.sub("", LINE_BREAK.sub("\n", page)))
    return is_same_text(MENTION.sub(r"@\1", sent), MENTION.sub(r"@\1", plain))
