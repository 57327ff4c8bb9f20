"""The parts of the page about ambiguous rows, and about what training measured."""

import numpy as np

from coterie.explore.ambiguity import Ambiguity
from coterie.explore.html_parts import counted, histogram, listed_rows, section, swatch
from coterie.explore.markup import Html, details, element, join, table
from coterie.explore.palette import colours
from coterie.explore.summary import Summary
from coterie.explore.training_metrics import Measure, TrainingMetrics

_MOST_CLUSTERS = 20


def ambiguity_panel(summary: Summary) -> Html:
    """Show uncertain rows, what they were taken for, and the course of it; nothing for other models."""
    if summary.ambiguity is None:
        return Html("")
    course = Html("") if summary.course is None else _course(summary.course)
    return join([_rows(summary, summary.ambiguity), course])


def _rows(summary: Summary, ambiguity: Ambiguity) -> Html:
    words = f"The median row has {ambiguity.median:.2f}."
    spread = histogram(
        "uncertainty", ambiguity.counts, np.linspace(0, 1, len(ambiguity.counts) + 1), words=words
    )
    left = element(
        "div", element("h3", "Uncertainty"), element("p", words, class_="about"), spread, class_="low"
    )
    right = element(
        "div",
        element("h3", "Clusters"),
        element("p", _routed(ambiguity), class_="about"),
        *_clusters(summary),
    )
    listed = [(one.row, [one.cluster, f"{one.uncertainty:.3f}", one.route]) for one in ambiguity.rows]
    note = (
        "How uncertain the model thinks each row is, from 0 to 1. Training routed the most uncertain rows one of two "
        "ways: a false negative may belong with its neighbours in other clusters, so they hardly repel each other; a "
        "hard negative lies between two clusters and is pushed to its own."
    )
    return section(
        "ambiguous",
        "Ambiguous rows",
        element("div", left, right, class_="halves"),
        element("h3", f"The {counted(len(listed), 'most uncertain row')}"),
        listed_rows(summary, "Most uncertain rows", ["Cluster", "Uncertainty", "Route"], listed),
        note=note,
    )


def _routed(ambiguity: Ambiguity) -> str:
    false = sum(cluster.false for cluster in ambiguity.clusters)
    hard = sum(cluster.hard for cluster in ambiguity.clusters)
    if not false + hard:
        return "No row was routed last."
    return f"As last routed, {counted(false, 'row')} count as false negatives and {hard:,} as hard negatives."


def _clusters(summary: Summary) -> list[Html]:
    assert summary.ambiguity is not None
    palette = colours(len(summary.clusters))
    clusters = summary.ambiguity.clusters
    rows = [
        [
            join([swatch(palette[one.number]), str(one.number)]),
            f"{one.size:,}",
            f"{one.uncertainty:.2f}",
            f"{one.false:,}",
            f"{one.hard:,}",
            "" if one.silhouette is None else f"{one.silhouette:.2f}",
        ]
        for one in clusters
    ]
    headings = ["Cluster", "Rows", "Uncertainty", "False negatives", "Hard negatives", "Silhouette"]
    shown = table("Clusters by their mean uncertainty", headings, rows[:_MOST_CLUSTERS])
    how = "Silhouette: how clearly rows lie in their own cluster of the consensus, from -1 to 1"
    if len(summary.sample.rows) < summary.n_rows:
        how += ", estimated from the sample"
    parts = [shown, element("p", f"{how}.", class_="about")]
    if len(rows) > _MOST_CLUSTERS:
        everything = table("Clusters by their mean uncertainty, all clusters", headings, rows)
        parts.append(details(f"All {len(rows)} clusters in a table", everything))
    return parts


def _course(course: TrainingMetrics) -> Html:
    parts = []
    if course.shares:
        names = ", ".join(one.name.lower() for one in course.shares)
        described = f"Curves from 0 to 1 over the epochs: {names}"
        parts.append(element("div", id="course-plot", class_="plot course", role="img", aria_label=described))
    headings = ["Measure", "First", "Last", "What it means"]
    paints = colours(len(course.shares))
    rows = [
        *(
            _measure(join([swatch(paint), one.name]), one)
            for paint, one in zip(paints, course.shares, strict=True)
        ),
        *(_measure(one.name, one) for one in course.amounts),
    ]
    caption = "What training measured, and what it means"
    parts.append(table(caption, headings, rows, class_="measures", quiet=True))
    last = course.first + course.steps - 1
    epochs = f"Epoch {last}, the one" if course.steps == 1 else f"Epochs {course.first} to {last}, those"
    note = f"{epochs} with clusters. Rows with a colour are drawn above the table."
    return section("course", "What training measured", *parts, note=note)


def _measure(name: str, measure: Measure) -> list[object]:
    known = measure.known
    return [name, f"{known[0]:.3g}", f"{known[-1]:.3g}", measure.meaning]
