"""The sections about several views: view statistics and ambiguous rows."""

from coterie.errors import counted
from coterie.explore.ambiguity import Ambiguity
from coterie.explore.html_parts import (
    Html,
    cluster_table,
    details,
    element,
    join,
    low_histogram,
    row_tables,
    section,
    swatch,
    table,
)
from coterie.explore.palette import colours
from coterie.explore.summary import Summary
from coterie.explore.view_statistics import ViewFacts, ViewStatistics

SCALINGS = {
    "feature": "each column has mean 0 and standard deviation 1",
    "minmax": "each column runs from 0 to 1",
    "sample": "each row has length 1",
    "none": "values as they came",
    "angle": "each column has mean 0, then each row length 1",
    "feature-angle": "each column has mean 0 and standard deviation 1, then each row length 1",
    "root": "square roots, then each row has length 1",
    "log": "logarithms, then each column has mean 0 and standard deviation 1",
}


def views_panel(statistics: ViewStatistics | None) -> Html:
    """Show the weights, agreement, missing and corrupt rows of the views; nothing for one view."""
    if statistics is None:
        return Html("")
    names = [view.name for view in statistics.views]
    cells = [
        [name, *("" if a == b else f"{statistics.agreement[a, b]:.2f}" for b in range(len(names)))]
        for a, name in enumerate(names)
    ]
    agreement = table("How much the views agree on which rows are neighbours", ["View", *names], cells)
    parts = [element("div", _facts(statistics.views), agreement, class_="columns")]
    if statistics.corrupt:
        rows = [[corrupt.row, corrupt.view, f"{corrupt.weight:.2f}"] for corrupt in statistics.corrupt]
        listed = table("Corrupt rows with the lowest weight", ["Row", "View", "Weight"], rows)
        parts.append(details(f"{counted(len(rows), 'corrupt row')} with the lowest weight", listed))
    return section("views", "Views", *parts, note=_note(statistics))


def _facts(views: list[ViewFacts]) -> Html:
    """List the views, with the columns for which the model has values."""
    columns: dict[str, list[object]] = {
        "View": [view.name for view in views],
        "Explained": ["" if view.explained is None else f"{view.explained:.0%}" for view in views],
        "Weight": ["" if view.weight is None else f"{view.weight:.1%}" for view in views],
        "Agreement": [f"{view.agreement:.2f}" for view in views],
        "Missing rows": [f"{view.missing:,}" for view in views],
        "Corrupt rows": ["" if view.corrupt is None else f"{view.corrupt:,}" for view in views],
        "Scaling": [view.scaling for view in views],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return table("Views", list(columns), zip(*columns.values(), strict=True), quiet=True)


def _note(statistics: ViewStatistics) -> str:
    sentences, views = [], statistics.views
    if any(view.explained is not None for view in views):
        sentences.append(
            "Explained: the share of a view that the common code explains, of what it could at best."
        )
    if any(view.weight is not None for view in views):
        sentences.append("Weight: that of a view in the consensus that is clustered; weights add up to 100%.")
    sentences.append(
        "Agreement: how much more often than by chance two views name the same neighbours, at most 1; for one view "
        "the mean over the others."
    )
    sentences += [f"Scaling {mode!r}: {SCALINGS[mode]}." for mode in sorted({view.scaling for view in views})]
    if statistics.estimated:
        sentences.append("Missing rows are estimated from the sample.")
    return " ".join(sentences)


def ambiguity_panel(summary: Summary) -> Html:
    """Show uncertain rows and how training routed them; nothing for other models."""
    ambiguity = summary.ambiguity
    if ambiguity is None:
        return Html("")
    left = low_histogram("Uncertainty", ambiguity.counts, f"The median row has {ambiguity.median:.2f}.")
    routed = element("p", _routed(ambiguity), class_="about")
    right = element("div", element("h3", "Clusters"), routed, *_clusters(summary, ambiguity))
    listed = [(row.row, [row.cluster, f"{row.uncertainty:.3f}", row.route]) for row in ambiguity.rows]
    note = (
        "How uncertain the model is of each row, from 0 to 1. Training routes the most uncertain rows in one of two "
        "ways: a false negative may belong with its neighbours in other clusters, so they hardly repel each other; a "
        "hard negative lies between two clusters and is pushed towards its own."
    )
    return section(
        "ambiguous",
        "Ambiguous rows",
        element("div", left, right, class_="halves"),
        element("h3", f"The {counted(len(listed), 'most uncertain row')}"),
        row_tables(summary, "Most uncertain rows", ["Cluster", "Uncertainty", "Route"], listed),
        note=note,
    )


def _routed(ambiguity: Ambiguity) -> str:
    false = sum(cluster.false for cluster in ambiguity.clusters)
    hard = sum(cluster.hard for cluster in ambiguity.clusters)
    if not false + hard:
        return "Training routed no row."
    return f"When last routed, {counted(false, 'row')} counted as false negatives and {hard:,} as hard negatives."


def _clusters(summary: Summary, ambiguity: Ambiguity) -> list[Html]:
    palette = colours(len(summary.clusters))
    rows = [
        [
            join([swatch(palette[cluster.number]), str(cluster.number)]),
            f"{cluster.size:,}",
            f"{cluster.uncertainty:.2f}",
            f"{cluster.false:,}",
            f"{cluster.hard:,}",
            "" if cluster.silhouette is None else f"{cluster.silhouette:.2f}",
        ]
        for cluster in ambiguity.clusters
    ]
    headings = ["Cluster", "Rows", "Uncertainty", "False negatives", "Hard negatives", "Silhouette"]
    first, whole = cluster_table("Clusters by their mean uncertainty", headings, rows)
    how = "Silhouette: how clearly rows lie in their own cluster of the consensus, from -1 to 1"
    if len(summary.sample.rows) < summary.n_rows:
        how += ", estimated from the sample"
    return [first, element("p", f"{how}.", class_="about"), *whole]
