"""A JPEG that is a mosaic: every block of eight by eight pixels has one colour, so only means are coded."""

import struct

from postino.sandbox.samples.bits import Bits
from postino.sandbox.samples.scenery import brightness_and_tint, colour_at

BLOCKS = 40  # a side
SIZES = range(9)  # how many bits a difference of two means can have
END_OF_BLOCK = (0, 1)  # the only code for what is not a mean


def jpeg() -> bytes:
    scan = Bits()
    means = [128, 128, 128]
    for number in range(BLOCKS * BLOCKS):
        y, x = divmod(number, BLOCKS)
        for part, mean in enumerate(brightness_and_tint(colour_at((x + 0.5) / BLOCKS, (y + 0.5) / BLOCKS))):
            put_difference(scan, mean - means[part])
            scan.put(*END_OF_BLOCK)
            means[part] = mean
    scan.align(1)
    return b"\xff\xd8" + headers() + bytes(scan.done).replace(b"\xff", b"\xff\0") + b"\xff\xd9"


def put_difference(scan: Bits, difference: int) -> None:
    size = abs(difference).bit_length()
    scan.put(size, 4)
    scan.put(difference if difference >= 0 else difference + (1 << size) - 1, size)


def headers() -> bytes:
    side = BLOCKS * 8
    frame = struct.pack(">BHHB", 8, side, side, 3) + b"".join(bytes([part, 0x11, 0]) for part in (1, 2, 3))
    means = bytes([0x00, 0, 0, 0, len(SIZES), *[0] * 12, *SIZES])
    details = bytes([0x10, 1, *[0] * 15, 0])
    scan = bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])
    return (
        segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")
        + segment(0xDB, bytes([0, *[8] * 64]))
        + segment(0xC0, frame)
        + segment(0xC4, means)
        + segment(0xC4, details)
        + segment(0xDA, scan)
    )


def segment(mark: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, mark, len(data) + 2) + data
