"""One sample image of each type and one short video, for trying things out."""

from functools import cache
from importlib.resources import files

MEDIA_TYPES = {"sample.jpg": "image/jpeg", "sample.png": "image/png", "sample.mp4": "video/mp4"}


@cache
def read_sample(name: str) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of a sample, or None if there is no sample of this name."""
    media_type = MEDIA_TYPES.get(name)
    return None if media_type is None else (media_type, (files(__name__) / name).read_bytes())
