"""Checks of text in requests: characters that can neither be stored nor sent."""

import re

BROKEN = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates can neither be stored nor sent
BROKEN_CHARACTER = "holds a broken character: type it again instead of pasting it."
MAX_NAME = 100  # characters of a name that are compared or shown
