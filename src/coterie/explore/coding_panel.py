"""The sections about sparse codes: atoms, reconstruction, the landmark graph."""

import math

import numpy as np

from coterie.errors import counted
from coterie.explore.coding import Atom, Coding, Entry, LandmarkGraph
from coterie.explore.html_parts import (
    Html,
    details,
    element,
    figure,
    folded_cards,
    image,
    join,
    low_histogram,
    section,
    swatch,
    table,
    thumbnail,
)
from coterie.explore.palette import colours
from coterie.explore.pictures import data_uri
from coterie.explore.summary import Cluster, Summary

# A wider table cannot be read; what leads to smaller clusters is added up.
_MOST_COLUMNS = 20
_LAID_OUT = {
    "t-SNE": "by t-SNE of the spectral embedding",
    "PCA": "by the two main directions (PCA) of the spectral embedding",
    "embedding": "by the two columns of the spectral embedding",
}


def coding_panel(summary: Summary) -> Html:
    """Show the atoms of each cluster, reconstruction errors, and the landmarks; nothing without codes."""
    coding = summary.coding
    if coding is None:
        return Html("")
    return join([_atoms(summary, coding), _reconstruction(summary, coding), _landmarks(coding.graph)])


def _atoms(summary: Summary, coding: Coding) -> Html:
    pictures = summary.thumbnails is not None
    palette = colours(len(summary.clusters))
    ordered = sorted(summary.clusters, key=lambda cluster: -cluster.size)
    several = len(summary.views) > 1
    cards = [
        _card(cluster, coding.atoms[cluster.number], palette[cluster.number], several)
        for cluster in ordered
        if cluster.size
    ]
    note = (
        "A row is approximated by a weighted sum of atoms. Shown are the atoms that a cluster uses most compared "
        "with all other rows, and their mean absolute weight in its rows."
    )
    if pictures:
        note += (
            " Black is negative, grey zero, white positive, on one scale for all atoms; a negative weight "
            "swaps black and white."
        )
    if not pictures or several:
        note += " The number of a feature is what an atom of weight 1 adds to it, in the units of the scaled data."
    return section("atoms", "Atoms of each cluster", *folded_cards(cards, pictures=pictures), note=note)


def _card(cluster: Cluster, atoms: list[Atom], colour: str, several: bool) -> Html:
    about = counted(cluster.size, "row") if atoms else "Uses no atom more than other rows do."
    drawn = [
        figure(image(data_uri(atom.pixels), f"Atom {atom.number} of cluster {cluster.number}"), _use(atom))
        for atom in atoms
        if atom.pixels is not None
    ]
    written = [
        [join([f"{atom.number}", element("span", _use(atom), class_="use")]), _entries(atom.entries, several)]
        for atom in atoms
        if atom.entries
    ]
    title = element("h3", swatch(colour), f"Cluster {cluster.number}")
    parts = [title, element("p", about, class_="about")]
    if drawn:
        parts.append(element("div", *drawn, class_="atoms"))
    if written:
        caption = f"Atoms of cluster {cluster.number}"
        parts.append(table(caption, ["Atom", "Adds most to"], written, class_="entries", quiet=True))
    return element("article", *parts, class_="card")


def _use(atom: Atom) -> str:
    if atom.ratio is None:
        return f"{atom.use:.2f}"
    how = "only here" if math.isinf(atom.ratio) else f"{atom.ratio:.1f} x elsewhere"
    return f"{atom.use:.2f}, {how}"


def _entries(entries: list[Entry], several: bool) -> Html:
    names = [f"{entry.view}: {entry.name}" if several else entry.name for entry in entries]
    return join(
        element(
            "div",
            element("span", name, class_="name", title=name),
            " ",
            element("span", f"{entry.weight:+.2f}"),
            class_="entry",
        )
        for name, entry in zip(names, entries, strict=True)
    )


def _reconstruction(summary: Summary, coding: Coding) -> Html:
    zeros, errors = coding.zeros, coding.errors
    sparse = f"In the median row {zeros.median:.0%} of the code is zero."
    error = f"The median row has an error of {errors.median:.0%}."
    if errors.above:
        error += f" {counted(errors.above, 'row')} above 1 in the last box."
    histograms = element(
        "div",
        low_histogram("Share of zeros", zeros.counts, sparse),
        low_histogram("Error", errors.counts, error),
        class_="halves",
    )
    note = (
        "How sparse the code of each row is, and its reconstruction error: the length of the residual over that of "
        "the row, in the space that is coded."
    )
    return section("codes", "Reconstruction", histograms, _worst(summary, coding), note=note)


def _worst(summary: Summary, coding: Coding) -> Html:
    pictures = summary.thumbnails is not None
    headings = ["Row", *(["Image"] if pictures else []), "Cluster", "Error", "Share of zeros"]
    rows = [
        [
            row.row,
            *([thumbnail(summary, row.row, f"Row {row.row}")] if pictures else []),
            row.cluster,
            f"{row.error:.3g}",
            f"{row.zeros:.0%}",
        ]
        for row in coding.worst
    ]
    return table(f"The {counted(len(rows), 'row')} with the largest error", headings, rows)


def _landmarks(graph: LandmarkGraph) -> Html:
    size = f"{counted(len(graph.labels), 'landmark')} and {counted(graph.n_edges, 'edge')}"
    label = f"Graph of {size}, coloured by cluster"
    plot = element("div", id="landmark-plot", class_="plot graph", role="img", aria_label=label)
    note = (
        f"{size} in {counted(graph.n_components, 'connected component')}, laid out "
        f"{_LAID_OUT[graph.projection.method]} and coloured as on the map. "
        f"{graph.within:.1%} of the edge weight stays within clusters."
    )
    if len(graph.edges) < graph.n_edges:
        note += f" The {len(graph.edges):,} strongest edges are drawn."
    numbers = details("Numbers in a table", _share_table(graph))
    return section("landmarks", "Landmark graph", plot, numbers, note=note)


def _share_table(graph: LandmarkGraph) -> Html:
    counts = np.bincount(graph.labels, minlength=len(graph.shares))
    used = [c for c in range(len(counts)) if counts[c]]
    shown = sorted(sorted(used, key=lambda c: -counts[c])[:_MOST_COLUMNS])
    rest = len(used) > len(shown)
    palette = colours(len(counts))
    rows = []
    for a in used:
        shares = [graph.shares[a, b] for b in shown]
        if rest:
            shares.append(graph.shares[a].sum() - sum(shares))
        rows.append([join([swatch(palette[a]), str(a)]), *(_percent(share) for share in shares)])
    caption = "Where the edges of each cluster lead, as a share of their weight"
    return table(caption, ["Cluster", *(f"to {b}" for b in shown), *(["to others"] if rest else [])], rows)


def _percent(share: float) -> str:
    """Write a share, and nothing for none, so that the eye finds the few that matter.

    Examples
    --------
    >>> _percent(0.5), _percent(0.0004), _percent(0.0)
    ('50.0%', '<0.1%', '')
    """
    if share <= 1e-12:
        return ""
    return f"{share:.1%}" if share >= 0.0005 else "<0.1%"
