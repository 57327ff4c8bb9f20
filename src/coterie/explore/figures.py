"""The plotly figures, as plain JSON; colours of text and paper are set by the page's script."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.coding import LandmarkGraph
from coterie.explore.palette import by_confidence, by_group, by_known_group, colours
from coterie.explore.summary import Summary
from coterie.explore.training import Curve, Training

# A line through one point cannot be seen, and few points deserve to be.
_FEW_POINTS = 20
_MOST_TICKS = 6
_PALE = {"marker": {"opacity": 0.06}}


def plane_points(xy: NDArray[np.float64]) -> dict[str, list[float | None]]:
    """Write coordinates (n, 2) with no more digits than can be seen; None for a row that is not on the map.

    Examples
    --------
    >>> plane_points(np.array([[0.0, 1.0], [2.0, 4.0]]))
    {'x': [0.0, 0.5], 'y': [0.25, 1.0]}
    """
    known = xy[np.isfinite(xy)]
    span = (float(np.ptp(known)) if len(known) else 0.0) or 1.0
    rounded = np.round(xy / span, 4).astype(object)
    rounded[~np.isfinite(xy)] = None
    return {"x": rounded[:, 0].tolist(), "y": rounded[:, 1].tolist()}


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


def hover_text(name: str) -> str:
    """Escape a name for plotly, which reads some HTML in hover texts, and knows no &quot;."""
    return escape(name, quote=False)


def map_figure(summary: Summary) -> dict[str, Any]:
    """Build the map: a dot for each sampled row, a diamond for each exemplar, and the ways to colour the dots.

    Besides plotly's `data` and `layout` it has `modes`, from the name of a colouring to its marker, and `groups`,
    from the name of a colouring to the groups of the dots and of the diamonds; `places` has for each map where the
    dots and the diamonds lie.
    """
    sample, classes = summary.sample, summary.classes
    planes = [plane_points(projection.coordinates) for projection in summary.maps.values()]
    points = planes[0]
    hover: list[list[Any]] = [
        [int(row), hover_text(summary.clusters[label].title), round(float(confidence), 3)]
        for row, label, confidence in zip(sample.rows, sample.labels, sample.confidence, strict=True)
    ]
    template = "row %{customdata[0]}<br>cluster %{customdata[1]}<br>confidence %{customdata[2]:.2f}"
    members = {"cluster": sample.labels.tolist()}
    modes = {
        "cluster": by_group(sample.labels.tolist(), colours(sample.n_clusters)),
        "confidence": by_confidence(sample.confidence, sample.n_clusters),
    }
    if classes is not None:
        members["class"] = classes.codes[sample.rows].tolist()
        modes["class"] = by_known_group(members["class"], len(classes.names))
        for row, entry in zip(sample.rows, hover, strict=True):
            entry.append(hover_text(classes.name_of(row)))
        template += "<br>class %{customdata[3]}"
    dots = points | {
        "type": "scatter",
        "mode": "markers",
        "customdata": hover,
        "hovertemplate": template + "<extra></extra>",
        "marker": modes["cluster"] | {"size": 6, "opacity": 0.85},
        "unselected": _PALE,
        "selected": {"marker": {"opacity": 0.95}},
    }
    at = np.flatnonzero(np.isin(sample.rows, list(sample.exemplars.values()))).tolist()
    places = [[plane, {axis: [plane[axis][i] for i in at] for axis in plane}] for plane in planes]
    diamonds = places[0][1] | {
        "type": "scatter",
        "mode": "markers",
        "customdata": [hover[i] for i in at],
        "hovertemplate": f"exemplar<br>{template}<extra></extra>",
        "marker": {"symbol": "diamond-open", "size": 11 if len(at) <= 30 else 7, "line": {"width": 2}},
        "unselected": _PALE,
    }
    groups = {mode: [codes, [codes[i] for i in at]] for mode, codes in members.items()}
    return {
        "data": [dots, diamonds],
        "layout": map_layout(),
        "modes": modes,
        "groups": groups,
        "places": places,
    }


def landmark_figure(graph: LandmarkGraph) -> dict[str, Any]:
    """Build the landmark graph: all edges as one broken line below a dot for each landmark."""
    points = plane_points(graph.projection.coordinates)
    lines = {
        axis: [at for a, b in graph.edges.tolist() for at in (values[a], values[b], None)]
        for axis, values in points.items()
    } | {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "opacity": 0.35}
    labels = graph.labels.tolist()
    dots = points | {
        "type": "scatter",
        "mode": "markers",
        "customdata": labels,
        "hovertemplate": "landmark %{pointNumber}<br>cluster %{customdata}<extra></extra>",
        "marker": by_group(labels, colours(len(graph.shares))) | {"size": 5, "opacity": 0.9},
    }
    return {"data": [lines, dots], "layout": map_layout()}


def curve_figures(training: Training) -> list[dict[str, Any]]:
    """Build one small figure for each curve, all over the same steps, with the phases as bands."""
    return [_curve_figure(curve, training) for curve in training.curves]


def _curve_figure(curve: Curve, training: Training) -> dict[str, Any]:
    few = sum(value is not None for value in curve.values) <= _FEW_POINTS
    line = {
        "type": "scatter",
        "mode": "lines+markers" if few else "lines",
        "x": list(range(1, training.steps + 1)),
        "y": curve.values,
        "hovertemplate": f"{training.unit} %{{x}}<br>%{{y:.5g}}<extra></extra>",
        "connectgaps": False,
    }
    bands, names = [], []
    for i, phase in enumerate(training.phases):
        left, right = phase.start - 0.5, phase.stop + 0.5
        if i % 2 == 1:
            bands.append(
                {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1}
                | {"line": {"width": 0}, "opacity": 0.12, "layer": "below"}
            )
        # A name needs room; the table behind the curves has them all.
        if right - left >= 0.12 * training.steps:
            names.append(
                {"text": hover_text(phase.name), "x": (left + right) / 2, "xref": "x", "yref": "paper"}
                | {"y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}
            )
    # Whole steps are marked, all of them where they are few.
    ticks = {"dtick": 1} if training.steps <= _MOST_TICKS else {"nticks": _MOST_TICKS}
    return {
        "name": curve.name,
        "data": [line],
        "layout": {
            "xaxis": {"range": [0.5, training.steps + 0.5], "zeroline": False, **ticks},
            "yaxis": {"nticks": 5, "zeroline": False, "automargin": True},
            "margin": {"l": 44, "r": 8, "t": 20 if names else 8, "b": 26},
            "shapes": bands,
            "annotations": names,
            "showlegend": False,
        },
    }
