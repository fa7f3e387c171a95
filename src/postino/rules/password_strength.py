"""Decide whether a password is easy to guess. Time is linear in its length, and the list of words is short.

A password counts as many points as it has parts that a guesser has to try: a common word, the user's name, a year, a
run such as `1234`, `qwerty` or `aaaa`, and any other character are one part each. What repeats counts once.
"""

import re
import unicodedata

MIN_PARTS = 8
MIN_DISTINCT = 5  # characters
MAX_WORD = 20  # characters
RUN = 3  # characters
KEYBOARD_RUN = 4
ROWS = ("qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "qsdfghjklm", "yxcvbnm", "zxcvbnm", "1234567890")
SPLIT = re.compile(r"[^a-z]+")
# What stands for a letter in common variants. `1` may stand for two letters.
VARIANTS = tuple(str.maketrans("013457@$!|+", "o" + one + "easta" + "si" + one + "t") for one in "il")
COMMON = """
    abcd access account acme admin administrator alexander alpha amanda andrea andrew angel anna anthony apple april
    arsenal ashley august austin autumn baby banana barcelona baseball basketball batman beach bear beautiful
    benjamin berlin biscuit blessed blue bonjour boss brandon brazil buster butterfly camera caroline change
    changeit changeme charlie chelsea cheese chicken chocolate christian ciao claudia coffee company computer config
    cookie corona cowboy crystal cyber daddy dallas daniel database december default demo diamond dolphin dragon
    eagle editor elephant email enter facebook family fashion february ferrari flower football forever francesca
    francesco freedom friday friend friends garden george ghost ginger giovanni giulia giuseppe google
    guest guitar hallo hannah happy harley hello hockey holiday home hotel house hunter iceman iloveyou india internet
    instagram italia jackson january jasmine jasper jennifer jessica jesus jordan joseph joshua juan july june
    juventus killer king kitty lady laura letme letmein liberty lisbon live liverpool login london lorenzo love lovely
    loveme lover lucky luca madrid maggie magic manager march marco maria mario marketing martin master mastodon
    matrix matthew melissa mercedes merlin michael michelle milan monday money monitor monkey monster morning mother
    mustang naples napoli naruto natasha network nicole ninja november number october office orange owner pass
    passcode passphrase passw passwd password patrick peaches peanut pepper phoenix pokemon portugal posta poste
    postino postgres princess private publish purple qazwsx qwer rainbow robert rome root sabrina samantha
    samsung saturday secret secure security senha september server service sexy shadow silver simple sister skate
    slayer snoopy soccer social sophie spring sqlite star starwars summer sunday sunflower sunshine super superman
    support system taylor teacher telegram temp temporary test tester thomas thursday tigger tiger today trustno
    tuesday twitter user valentina vanessa verona viewer vincent wednesday welcome whatever william willow windows
    winter wizard word work yankees yellow youtube zaqwsx
    1qaz 2wsx 3edc 1q2w 3e4r 5t6y q1w2 e3r4 1a2b 3c4d abc123 a1b2 c3d4
    """
WORDS = COMMON.split()
KNOWN = frozenset([*WORDS, *(word[::-1] for word in WORDS)])


def is_easy_to_guess(password: str, name: str) -> bool:
    """Return whether a password consists mainly of common words, the user's name, runs and repetitions."""
    text = find_period(unicodedata.normalize("NFKC", password).casefold())
    words = KNOWN | {part[:MAX_WORD] for part in SPLIT.split(name.casefold()) if len(part) >= RUN}
    return len(set(text)) < MIN_DISTINCT or count_parts(text, words) < MIN_PARTS


def count_parts(text: str, words: frozenset[str]) -> int:
    """Return the number of parts of a text. A part that comes again counts once."""
    forms = (text, *(text.translate(variant) for variant in VARIANTS))
    parts, place, count = set[str](), 0, 0
    while place < len(text):
        length = max(measure_word(forms, place, words), measure_run(text, place), measure_year(text, place), 1)
        part = text[place : place + length]
        count += length == 1 or part not in parts
        parts.add(part)
        place += length
    return count


def measure_word(forms: tuple[str, ...], place: int, words: frozenset[str]) -> int:
    """Return the length of the longest word at a place."""
    sizes = range(MAX_WORD, RUN - 1, -1)
    return next((size for size in sizes for form in forms if form[place : place + size] in words), 0)


def measure_year(text: str, place: int) -> int:
    year = text[place : place + 4]
    return 4 if year.isdecimal() and year.startswith(("19", "20")) else 0


def measure_run(text: str, place: int) -> int:
    """Return the length of the run at a place: equal or consecutive characters, or neighbours on a keyboard."""
    codes = [ord(one) for one in text[place : place + 2]]
    if len(codes) < 2:
        return 0
    step, end = codes[1] - codes[0], place + 2
    if abs(step) <= 1:
        while end < len(text) and ord(text[end]) - ord(text[end - 1]) == step:
            end += 1
    keys = place
    while text[keys : keys + KEYBOARD_RUN] in KEYBOARD:
        keys += 1
    if keys > place:
        end = max(end, keys + KEYBOARD_RUN - 1)
    return end - place if end - place >= RUN else 0


def list_keyboard_runs() -> frozenset[str]:
    rows = [*ROWS, *(row[::-1] for row in ROWS)]
    return frozenset(row[at : at + KEYBOARD_RUN] for row in rows for at in range(len(row) - KEYBOARD_RUN + 1))


KEYBOARD = list_keyboard_runs()


def find_period(text: str) -> str:
    """Return the shortest text whose repetition this is, such as `abc` for `abcabcab`; the text if it repeats none."""
    borders = [0] * len(text)  # of each prefix: the length of its longest part that is both at its start and its end
    for end in range(1, len(text)):
        length = borders[end - 1]
        while length and text[end] != text[length]:
            length = borders[length - 1]
        borders[end] = length + (text[end] == text[length])
    period = len(text) - (borders[-1] if text else 0)
    return text[:period] if period * 2 <= len(text) else text
