"""Sample images, a sample video and sample posts."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from typing import Any

from postino.values.job import new_id
from postino.values.provider import Account, Media, Post

SAMPLE_VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 1000  # as far as anybody looks who does not play it


def make_png(shade: int = 0, width: int = 1, height: int = 1) -> bytes:
    """Return an uncompressed grey PNG image of this size."""
    rows = zlib.compress((b"\0" + bytes([shade]) * width) * height, level=0)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def make_post(account: Account, *parts: str, media: tuple[Media, ...] = (), **options: Any) -> Post:
    return Post(
        id=new_id(),
        account=account,
        parts=parts or ("Good morning!",),
        media=media,
        created_at=datetime.now(UTC),
        options=options,
    )
