"""What maps are made of: where dots lie and how they are coloured, as plain JSON for plotly."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.palette import colours

UNLABELLED = "#a0a0a0"
"""The colour of dots of which nothing is known."""

# Warm for the rows to look at, cool for the rest; told apart by colour-blind readers too.
_CONFIDENCE_SCALE = [[0.0, "#d1495b"], [0.5, "#edae49"], [1.0, "#2e7d8f"]]
_AMOUNT_SCALE = [[0.0, "#3b4cc0"], [0.5, "#8fb0a0"], [1.0, "#d9a520"]]


def plane_points(xy: NDArray[np.float64]) -> dict[str, list[float]]:
    """Write coordinates (n, 2) with no more digits than can be seen.

    Examples
    --------
    >>> plane_points(np.array([[0.0, 1.0], [2.0, 4.0]]))
    {'x': [0.0, 0.5], 'y': [0.25, 1.0]}
    """
    span = float(np.ptp(xy)) or 1.0
    return {"x": np.round(xy[:, 0] / span, 4).tolist(), "y": np.round(xy[:, 1] / span, 4).tolist()}


def map_layout() -> dict[str, Any]:
    """Lay a map out without axes."""
    bare = {"visible": False, "showgrid": False, "zeroline": False}
    return {
        "xaxis": bare,
        # Distances on the map mean the same in both directions.
        "yaxis": bare | {"scaleanchor": "x", "scaleratio": 1},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "showlegend": False,
        "hovermode": "closest",
    }


def by_group(codes: list[int], palette: list[str]) -> dict[str, Any]:
    """Colour by number through a scale of steps, which is far shorter than one colour per dot."""
    n = len(palette)
    steps = [[edge / n, colour] for i, colour in enumerate(palette) for edge in (i, i + 1)]
    return {"color": codes, "colorscale": steps, "cmin": -0.5, "cmax": n - 0.5, "showscale": False}


def by_known_group(codes: list[int], n_groups: int) -> dict[str, Any]:
    """Colour by number, grey where it is -1."""
    return by_group([code + 1 for code in codes], [UNLABELLED, *colours(n_groups)])


def by_confidence(confidence: NDArray[np.floating], n_clusters: int) -> dict[str, Any]:
    """Colour by confidence; no row can be less sure of its own cluster than when all are equally likely."""
    return {
        "color": np.round(confidence.astype(np.float64), 3).tolist(),
        "colorscale": _CONFIDENCE_SCALE,
        "cmin": round(1 / n_clusters, 3),
        "cmax": 1,
        "showscale": True,
    }


def by_amount(amounts: NDArray[np.floating]) -> dict[str, Any]:
    """Colour by a quantity, between the edges of the middle 98 percent; NaN is left out.

    Examples
    --------
    >>> found = by_amount(np.array([0.0, 5.0, np.nan]))
    >>> found["color"], round(found["cmax"], 2)
    ([0.0, 5.0, None], 4.95)
    """
    known = amounts[np.isfinite(amounts)]
    low, high = (float(edge) for edge in np.percentile(known, (1, 99))) if len(known) else (0.0, 1.0)
    return {
        "color": [float(f"{one:.5g}") if np.isfinite(one) else None for one in amounts.tolist()],
        "colorscale": _AMOUNT_SCALE,
        "cmin": low,
        "cmax": high if high > low else low + 1.0,
        "showscale": True,
    }


def hover_text(name: str) -> str:
    """Escape a name for plotly, which reads some HTML in hover texts, and knows no &quot;."""
    return escape(name, quote=False)
