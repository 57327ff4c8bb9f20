"""Colours of clusters, classes and dots that are distinct on light and on dark backgrounds."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Ten colours that colour-blind readers can tell apart too (Petroff 2021), the greys last.
_TEN = "3f90da ffa90e bd1f01 832db6 e76300 92dadd a96b59 b9ac70 717581 94a4a2"
_FIRST = [f"#{colour}" for colour in _TEN.split()]
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))

UNLABELLED = "#c4c4c4"
"""The colour of dots without a group."""

# Warm for the rows to look at, cool for the rest; colour-blind readers can tell them apart too.
_CONFIDENCE_SCALE = [[0.0, "#d1495b"], [0.5, "#edae49"], [1.0, "#2e7d8f"]]
_AMOUNT_SCALE = [[0.0, "#3b4cc0"], [0.5, "#8fb0a0"], [1.0, "#d9a520"]]


def colours(n: int) -> list[str]:
    """Return n colours as hexadecimal strings.

    Up to ten come from a fixed list. Beyond that, hues follow the golden angle, so that neighbours in number
    differ in hue, and three levels of lightness take turns. No palette tells a hundred groups apart: the
    page also offers to highlight one at a time.

    Examples
    --------
    >>> colours(2), len(set(colours(100)))
    (['#3f90da', '#ffa90e'], 100)
    """
    if n <= len(_FIRST):
        return _FIRST[:n]
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


def by_group(codes: list[int], palette: list[str]) -> dict[str, Any]:
    """Colour dots by group through a scale of steps, which is far shorter than one colour per dot."""
    n = len(palette)
    steps = [[edge / n, colour] for i, colour in enumerate(palette) for edge in (i, i + 1)]
    return {"color": codes, "colorscale": steps, "cmin": -0.5, "cmax": n - 0.5, "showscale": False}


def by_known_group(codes: list[int], n_groups: int) -> dict[str, Any]:
    """Colour dots by group, grey where the code is -1."""
    return by_group([code + 1 for code in codes], [UNLABELLED, *colours(n_groups)])


def by_confidence(confidence: NDArray[np.floating], n_clusters: int) -> dict[str, Any]:
    """Colour dots by confidence; the lowest possible is that of k equal memberships."""
    return {
        "color": np.round(confidence.astype(np.float64), 3).tolist(),
        "colorscale": _CONFIDENCE_SCALE,
        "cmin": round(1 / n_clusters, 3),
        "cmax": 1,
        "showscale": True,
    }


def by_amount(amounts: NDArray[np.floating]) -> dict[str, Any]:
    """Colour dots by a quantity, between its 1st and 99th percentile; NaN is left out.

    Examples
    --------
    >>> marker = by_amount(np.array([0.0, 5.0, np.nan]))
    >>> marker["color"], round(marker["cmax"], 2)
    ([0.0, 5.0, None], 4.95)
    """
    finite = amounts[np.isfinite(amounts)]
    low, high = (float(edge) for edge in np.percentile(finite, (1, 99))) if len(finite) else (0.0, 1.0)
    return {
        "color": [float(f"{amount:.5g}") if np.isfinite(amount) else None for amount in amounts.tolist()],
        "colorscale": _AMOUNT_SCALE,
        "cmin": low,
        "cmax": high if high > low else low + 1.0,
        "showscale": True,
    }
