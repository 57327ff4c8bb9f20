"""Colours for clusters and classes that can be told apart on light and on dark paper."""

import math

# Ten hues at middling lightness, in the order in which they are easiest to tell apart.
_FIRST = (
    "#3b7dd8",
    "#e8833a",
    "#3fa564",
    "#d9534f",
    "#8f6fc6",
    "#9a6a4f",
    "#d977b5",
    "#7f8a93",
    "#b0a52f",
    "#2fb0bd",
)
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


def colours(n: int) -> list[str]:
    """Return n colours as hexadecimal strings.

    Up to ten come from a fixed list. Beyond that, hues follow the golden angle, so that neighbours in number
    differ in hue, and three levels of lightness take turns. No palette tells a hundred groups apart: the
    page also offers to highlight one at a time.

    Examples
    --------
    >>> colours(2)
    ['#3b7dd8', '#e8833a']
    >>> len(set(colours(100)))
    100
    """
    if n <= len(_FIRST):
        return list(_FIRST[:n])
    return [_oklch((0.62, 0.72, 0.53)[i % 3], 0.13, i * _GOLDEN_ANGLE) for i in range(n)]


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """Convert from OKLCH (Ottosson, 2020) to sRGB, clipped to what a screen can show."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(value)):02x}" for value in linear)


def _gamma(value: float) -> float:
    value = min(max(value, 0.0), 1.0)
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
