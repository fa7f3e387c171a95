"""A PNG: rows of pixels, compressed."""

import struct
import zlib

from postino.sandbox.samples.scenery import colour_at

SIDE = 320


def png() -> bytes:
    row = struct.Struct(">I").pack
    pixels = [b"\0" + b"".join(bytes(colour_at(x / SIDE, y / SIDE)) for x in range(SIDE)) for y in range(SIDE)]
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(pixels), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        row(len(data)) + kind + data + row(zlib.crc32(kind + data)) for kind, data in parts
    )
