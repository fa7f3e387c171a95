"""A picture of each kind and a short film, for trying things out; made here, bit by bit."""

from functools import cache

from postino.sandbox.samples.jpeg import jpeg
from postino.sandbox.samples.mp4 import mp4
from postino.sandbox.samples.png import png

MAKERS = {"sample.jpg": ("image/jpeg", jpeg), "sample.png": ("image/png", png), "sample.mp4": ("video/mp4", mp4)}


@cache
def sample(name: str) -> tuple[str, bytes] | None:
    """Its media type and its bytes."""
    if name not in MAKERS:
        return None
    mime, make = MAKERS[name]
    return mime, make()
