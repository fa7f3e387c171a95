"""Make texts that look like posts: each number has its own text, always the same."""

import random

SAID = (
    "today we open the new shop in the old town and everybody is welcome until the evening with coffee cake and music "
    "our team has worked for months on this spring collection which you can see online or try on right here come by "
    "before sunday because what is gone will not come back this year thank you for your patience dear friends of slow "
    "bread fresh fish good books long walks short meetings warm light cold drinks early trains late nights small steps "
    "large windows green roofs blue bicycles red doors quiet streets loud concerts honest prices fair wages free entry"
)
WORDS = SAID.split()
RARE = "saffron"  # in one of a thousand
FEWEST, MOST = 12, 32


def make_text(number: int) -> str:
    chosen = random.Random(number)
    words = chosen.choices(WORDS, k=chosen.randint(FEWEST, MOST))
    if number % 1000 == 0:
        words[3] = RARE
    return f"{' '.join(words).capitalize()}. #{number}"
