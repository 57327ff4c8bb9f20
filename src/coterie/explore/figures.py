"""The plotly figures of the report, as plain JSON; colours of text and paper are set by the page's script."""

from typing import Any

import numpy as np

from coterie.explore.landmarks import LandmarkGraph
from coterie.explore.markers import (
    by_confidence,
    by_group,
    by_known_group,
    hover_text,
    map_layout,
    plane_points,
)
from coterie.explore.palette import colours
from coterie.explore.summary import Summary
from coterie.explore.training import Curve, Training
from coterie.explore.training_metrics import TrainingMetrics

# A line through one point cannot be seen, and few points deserve to be.
_FEW_POINTS = 20


def map_figure(summary: Summary) -> dict[str, Any]:
    """Build the map: one dot per sampled row, a diamond per exemplar, and the ways to colour the dots.

    Returns
    -------
    dict
        `data` and `layout` as plotly wants them; `modes`, from the name of a colouring to the marker that
        makes it; `groups`, from the name of a colouring to the group of each dot and of each diamond.
    """
    sample, xy = summary.sample, summary.projection.coordinates
    points = plane_points(xy)
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
    if summary.classes is not None:
        names, codes = summary.classes.names, summary.classes.codes[sample.rows].tolist()
        members["class"] = codes
        modes["class"] = by_known_group(codes, len(names))
        for entry, code in zip(hover, codes, strict=True):
            entry.append(hover_text(names[code] if code >= 0 else "not labelled"))
        template += "<br>class %{customdata[3]}"
    dots = points | {
        "type": "scatter",
        "mode": "markers",
        "customdata": hover,
        "hovertemplate": template + "<extra></extra>",
        "marker": modes["cluster"] | {"size": 6, "opacity": 0.85},
        "unselected": {"marker": {"opacity": 0.06}},
        "selected": {"marker": {"opacity": 0.95}},
    }
    at = np.flatnonzero(np.isin(sample.rows, list(sample.exemplars.values()))).tolist()
    diamonds = {axis: [values[i] for i in at] for axis, values in points.items()} | {
        "type": "scatter",
        "mode": "markers",
        "customdata": [hover[i] for i in at],
        "hovertemplate": f"exemplar<br>{template}<extra></extra>",
        "marker": {"symbol": "diamond-open", "size": 11 if len(at) <= 30 else 7, "line": {"width": 2}},
        "unselected": {"marker": {"opacity": 0.06}},
    }
    groups = {mode: [all_, [all_[i] for i in at]] for mode, all_ in members.items()}
    return {"data": [dots, diamonds], "layout": map_layout(), "modes": modes, "groups": groups}


def landmark_figure(graph: LandmarkGraph) -> dict[str, Any]:
    """Build the graph of the landmarks: all edges as one broken line below one dot per landmark.

    Returns
    -------
    dict
        `data` and `layout` as plotly wants them.
    """
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


def course_figure(course: TrainingMetrics) -> dict[str, Any]:
    """Build one figure of all shares that training measured, in the colours of their table.

    Returns
    -------
    dict
        `data` and `layout` as plotly wants them.
    """
    shares = course.shares
    epochs = list(range(course.first, course.first + course.steps))
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers" if course.steps <= _FEW_POINTS else "lines",
            "x": epochs,
            "y": one.values,
            "line": {"color": colour, "width": 2},
            "hovertemplate": f"{hover_text(one.name)}<br>epoch %{{x}}<br>%{{y:.3f}}<extra></extra>",
            "connectgaps": False,
        }
        for one, colour in zip(shares, colours(len(shares)), strict=True)
    ]
    layout = {
        "xaxis": {"range": [epochs[0] - 0.5, epochs[-1] + 0.5], "zeroline": False} | _ticks(course.steps, 8),
        # A line at 0 or at 1 must not hide in the frame.
        "yaxis": {"range": [-0.03, 1.03], "nticks": 6, "zeroline": False},
        "margin": {"l": 44, "r": 8, "t": 8, "b": 26},
        "showlegend": False,
        "hovermode": "closest",
    }
    return {"data": lines, "layout": layout}


def _ticks(steps: int, most: int) -> dict[str, int]:
    """Mark whole epochs, all of them where they are few."""
    return {"dtick": 1} if steps <= most else {"nticks": most}


def curve_figures(training: Training) -> list[dict[str, Any]]:
    """Build one small figure per curve, all over the same positions, with the phases as bands.

    Returns
    -------
    list of dict
        `name`, `data` and `layout` of each.
    """
    return [_curve_figure(curve, training) for curve in training.curves]


def _curve_figure(curve: Curve, training: Training) -> dict[str, Any]:
    steps = list(range(1, training.steps + 1))
    few = sum(value is not None for value in curve.values) <= _FEW_POINTS
    line = {
        "type": "scatter",
        "mode": "lines+markers" if few else "lines",
        "x": steps,
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
    return {
        "name": curve.name,
        "data": [line],
        "layout": {
            "xaxis": {"range": [0.5, training.steps + 0.5], "zeroline": False} | _ticks(training.steps, 6),
            "yaxis": {"nticks": 5, "zeroline": False, "automargin": True},
            "margin": {"l": 44, "r": 8, "t": 20 if names else 8, "b": 26},
            "shapes": bands,
            "annotations": names,
            "showlegend": False,
        },
    }
