"""A film of four seconds: four pictures whose pixels are kept as they are, which H.264 allows."""

import struct

from postino.sandbox.samples.bits import Bits
from postino.sandbox.samples.scenery import brightness_and_tint, colour_at

MACROBLOCKS = 5  # a side, of sixteen pixels
SIDE = MACROBLOCKS * 16
FRAMES = 4
MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def mp4() -> bytes:
    frames = [struct.pack(">I", len(it)) + it for it in map(picture, range(FRAMES))]
    head = box("ftyp", b"isom\0\0\2\0isomavc1mp42")
    return head + box("mdat", *frames) + movie(first=len(head) + 8, sizes=[len(it) for it in frames])


# The pictures


def picture(number: int) -> bytes:
    bits = Bits()
    bits.unsigned(0, 7, 0)
    bits.put(0, 4)
    bits.unsigned(number % 2)
    bits.put(0, 2)
    bits.unsigned(0, 1)
    for place in range(MACROBLOCKS**2):
        bits.unsigned(25)
        bits.align(0)
        bits.done += macroblock(place % MACROBLOCKS, place // MACROBLOCKS, number / FRAMES / 4)
    return unit(0x65, bits)


def macroblock(column: int, row: int, sunk: float) -> bytes:
    def pixel(x: int, y: int) -> tuple[int, int, int]:
        return brightness_and_tint(colour_at((column * 16 + x) / SIDE, (row * 16 + y) / SIDE - sunk))

    bright = [pixel(x, y)[0] for y in range(16) for x in range(16)]
    tints = [[pixel(x, y)[part] for y in range(0, 16, 2) for x in range(0, 16, 2)] for part in (1, 2)]
    return bytes(max(1, value) for value in bright + tints[0] + tints[1])


def sequence() -> bytes:
    bits = Bits()
    bits.put(66 << 16 | 0xC0 << 8 | 10, 24)
    bits.unsigned(0, 0, 2, 1)
    bits.put(0, 1)
    bits.unsigned(MACROBLOCKS - 1, MACROBLOCKS - 1)
    bits.put(0b1100, 4)
    return unit(0x67, bits)


def parameters() -> bytes:
    bits = Bits()
    bits.unsigned(0, 0)
    bits.put(0, 2)
    bits.unsigned(0, 0, 0)
    bits.put(0, 3)
    bits.unsigned(0, 0, 0)
    bits.put(0b100, 3)
    return unit(0x68, bits)


def unit(kind: int, bits: Bits) -> bytes:
    """Ends with a one, and has nothing in it that looks like the start of another."""
    bits.put(1, 1)
    bits.align(0)
    data, noughts = bytearray([kind]), 0
    for value in bits.done:
        if noughts >= 2 and value <= 3:
            data.append(3)
            noughts = 0
        data.append(value)
        noughts = noughts + 1 if value == 0 else 0
    return bytes(data)


# The boxes around them


def box(kind: str, *parts: bytes) -> bytes:
    data = b"".join(parts)
    return struct.pack(">I", len(data) + 8) + kind.encode() + data


def full(kind: str, data: bytes, flags: int = 0) -> bytes:
    return box(kind, struct.pack(">I", flags), data)


def movie(first: int, sizes: list[int]) -> bytes:
    times = struct.pack(">4I", 0, 0, 1, FRAMES)
    tail = b"\0" * 10 + MATRIX
    header = full("mvhd", times + struct.pack(">IH", 0x10000, 0x100) + tail + b"\0" * 24 + struct.pack(">I", 2))
    size = struct.pack(">2I", SIDE << 16, SIDE << 16)
    track = full("tkhd", struct.pack(">5I", 0, 0, 1, 0, FRAMES) + b"\0" * 16 + MATRIX + size, 3)
    media = box(
        "mdia",
        full("mdhd", times + struct.pack(">2H", 0x55C4, 0)),
        full("hdlr", b"\0\0\0\0vide" + b"\0" * 12 + b"sunset\0"),
        box(
            "minf",
            full("vmhd", b"\0" * 8, 1),
            box("dinf", full("dref", struct.pack(">I", 1) + full("url ", b"", 1))),
            table(first, sizes),
        ),
    )
    return box("moov", header, box("trak", track, media))


def table(first: int, sizes: list[int]) -> bytes:
    config = bytes([1, 66, 0xC0, 10, 0xFF, 0xE1]) + sized(sequence()) + b"\1" + sized(parameters())
    look = b"\0" * 6 + struct.pack(">H", 1) + b"\0" * 16 + struct.pack(">2H", SIDE, SIDE)
    look += struct.pack(">3IH", 0x480000, 0x480000, 0, 1) + b"\0" * 32 + struct.pack(">Hh", 24, -1)
    return box(
        "stbl",
        full("stsd", struct.pack(">I", 1) + box("avc1", look, box("avcC", config))),
        full("stts", struct.pack(">3I", 1, FRAMES, 1)),
        full("stsc", struct.pack(">4I", 1, 1, FRAMES, 1)),
        full("stsz", struct.pack(f">2I{len(sizes)}I", 0, len(sizes), *sizes)),
        full("stco", struct.pack(">2I", 1, first)),
    )


def sized(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data
