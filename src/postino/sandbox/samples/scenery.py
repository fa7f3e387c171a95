"""What the samples show: a sun going down."""

Colour = tuple[int, int, int]


def colour_at(x: float, y: float) -> Colour:
    """Red, green and blue; x and y run from 0 to 1."""
    sun = max(0.0, 1 - ((x - 0.66) ** 2 + (y - 0.56) ** 2) * 30)
    glow = max(0.0, 1 - abs(y - 0.66) * 2.4)
    if y > 0.72:
        return clipped(28 + 120 * sun + 60 * glow * abs(x - 0.4), 34 + 40 * glow, 74 + 30 * glow)
    return clipped(56 + 150 * glow + 110 * sun, 48 + 62 * glow + 130 * sun, 118 - 20 * glow + 10 * sun)


def clipped(*values: float) -> Colour:
    red, green, blue = (max(0, min(255, int(value))) for value in values)
    return red, green, blue


def brightness_and_tint(colour: Colour) -> Colour:
    """The same as Y, Cb and Cr."""
    red, green, blue = colour
    return clipped(
        0.299 * red + 0.587 * green + 0.114 * blue,
        128 - 0.168736 * red - 0.331264 * green + 0.5 * blue,
        128 + 0.5 * red - 0.418688 * green - 0.081312 * blue,
    )
