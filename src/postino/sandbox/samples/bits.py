"""Bits in a row, the first the highest."""


class Bits:
    def __init__(self) -> None:
        self.value = 0
        self.length = 0
        self.done = bytearray()

    def put(self, value: int, width: int) -> None:
        self.value = (self.value << width) | value
        self.length += width
        while self.length >= 8:
            self.length -= 8
            self.done.append(self.value >> self.length)
            self.value &= (1 << self.length) - 1

    def unsigned(self, *values: int) -> None:
        """Exponential Golomb codes."""
        for value in values:
            width = (value + 1).bit_length()
            self.put(value + 1, 2 * width - 1)

    def align(self, filler: int) -> None:
        """To the next whole byte, with noughts or with ones."""
        while self.length:
            self.put(filler, 1)
