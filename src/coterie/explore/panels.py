"""The sections of every report: each turns a summary into HTML that also reads well without its plot."""

from collections.abc import Sequence

import numpy as np

from coterie.errors import counted
from coterie.explore.html_parts import (
    MOST_LISTED,
    Html,
    cluster_table,
    details,
    element,
    histogram,
    join,
    row_tables,
    section,
    swatch,
    table,
)
from coterie.explore.palette import colours
from coterie.explore.summary import CERTAIN, Cluster, Summary
from coterie.explore.training import Curve, curve_meaning, curve_title

_TABLE_STEPS = 200
_ANSWERS_UNFOLDED = 20
_SCORE_NAMES = {
    "accuracy": "Accuracy",
    "nmi": "NMI",
    "ari": "ARI",
    "purity": "Purity",
    "pairwise_f": "Pairwise F",
    "fowlkes_mallows": "Fowlkes-Mallows",
}
_LAID_OUT = {
    "t-SNE": "t-SNE (near rows are alike; distances between far groups mean little)",
    "PCA": "their two main directions (PCA)",
    "embedding": "the model's own two-dimensional embedding",
}


def facts(summary: Summary) -> Html:
    """Show the run at a glance."""
    used = sum(cluster.size > 0 for cluster in summary.clusters)
    empty = len(summary.clusters) - used
    widths = ", ".join(f"{name} ({dim:,})" for name, dim in summary.views)
    single = len(summary.views) == 1
    seconds = summary.training.seconds
    entries = [
        ("Method", summary.method),
        ("Rows", f"{summary.n_rows:,}"),
        ("Clusters", f"{used}" + (f" (and {empty} empty)" if empty else "")),
        ("Features", f"{summary.views[0][1]:,}") if single else ("Views (features)", widths),
        ("Training time", "not recorded" if seconds is None else duration(seconds)),
        ("Seed", summary.seed),
    ]
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in entries),
        class_="facts",
    )


def duration(seconds: float) -> str:
    """Write a time span the way people say it.

    Examples
    --------
    >>> duration(0.25), duration(42.04), duration(754)
    ('0.25 s', '42 s', '12 min 34 s')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def scores(summary: Summary) -> Html:
    """Show the scores against the known classes, or nothing when there are none."""
    if summary.classes is None:
        return Html("")
    rows = [
        [name, *(f"{values[key]:.3f}" for key in _SCORE_NAMES)] for name, values in summary.scores.items()
    ]
    unlabelled = int((summary.classes.codes < 0).sum())
    note = "How well the clusters agree with the known classes; 1 is perfect."
    if unlabelled:
        note += f" {counted(unlabelled, 'row')} without a known class left out."
    headings = ["Clustering", *_SCORE_NAMES.values()]
    scored = table("Scores against the known classes", headings, rows, quiet=True)
    return section("scores", "Agreement with known classes", scored, note=note)


def map_panel(summary: Summary) -> Html:
    """Show the map with its controls; the plot itself is drawn by the page's script."""
    palette = colours(len(summary.clusters))
    groups = [(c.number, c.title, palette[c.number]) for c in summary.clusters if c.size]
    modes, chips = ["Cluster", "Confidence"], [_chips("cluster", "Clusters", groups)]
    if summary.classes is not None:
        modes.append("Known class")
        names = summary.classes.names
        groups = [
            (c, name, paint) for c, (name, paint) in enumerate(zip(names, colours(len(names)), strict=True))
        ]
        chips.append(_chips("class", "Known classes", groups))
    choices = (element("label", _radio(mode.lower().split()[-1], mode == "Cluster"), mode) for mode in modes)
    switch = element("fieldset", element("legend", "Colour by"), *choices, class_="switch")
    sampled, n = len(summary.sample.rows), summary.n_rows
    label = f"Map of {sampled:,} rows, coloured by cluster"
    plot = element("div", id="map-plot", class_="plot map", role="img", aria_label=label)
    whole = f"All {n:,} rows" if sampled == n else f"{sampled:,} of {n:,} rows, small clusters included,"
    note = (
        f"{whole} laid out by {_LAID_OUT[next(iter(summary.maps.values())).method]}. Diamonds mark the exemplars. "
        "Press the buttons below the map to highlight groups."
    )
    return section("map", "Map", _layouts(summary), switch, plot, *chips, note=note)


def _layouts(summary: Summary) -> Html:
    """Offer the maps, where there are several."""
    if len(summary.maps) == 1:
        return Html("")
    choices = (
        element(
            "label", Html(f'<input type="radio" name="layout" value="{i}"{" checked" * (i == 0)}>'), title
        )
        for i, title in enumerate(summary.maps)
    )
    return element("fieldset", element("legend", "Laid out by"), *choices, class_="switch")


def _radio(mode: str, checked: bool) -> Html:
    return Html(f'<input type="radio" name="colour" value="{mode}"{" checked" if checked else ""}>')


def _chips(mode: str, label: str, groups: list[tuple[int, str, str]]) -> Html:
    buttons = [
        element("button", swatch(colour), name, type="button", aria_pressed="false", data_group=number)
        for number, name, colour in groups
    ]
    clear = element("button", "Show all", type="button", class_="clear")
    return element("div", clear, *buttons, class_="chips", role="group", aria_label=label, data_mode=mode)


def sizes_panel(summary: Summary) -> Html:
    """Show how many rows each cluster has, the largest first, as a table with bars."""
    ordered = sorted(summary.clusters, key=lambda cluster: -cluster.size)
    palette = colours(len(ordered))
    rows = [_size_row(cluster, summary, ordered[0].size, palette[cluster.number]) for cluster in ordered]
    headings = ["Cluster", Html('<span class="hidden">Bar</span>'), "Rows", "Share", "Confidence", "Nearest"]
    if summary.classes is not None:
        headings.append("Commonest class")
    first, whole = cluster_table("Rows in each cluster", headings, rows, class_="sizes", quiet=True)
    note = f"The {MOST_LISTED} largest of {len(rows)}." if whole else None
    return section("sizes", "Cluster sizes", first, *whole, note=note)


def _size_row(cluster: Cluster, summary: Summary, largest: int, colour: str) -> list[object]:
    bar = element("i", "", style=f"width:{100 * cluster.size / largest:.1f}%;background:{colour}")
    cells: list[object] = [
        join([swatch(colour), cluster.title]),
        element("div", bar, class_="bar", aria_hidden="true"),
        f"{cluster.size:,}",
        f"{cluster.size / summary.n_rows:.1%}",
        "" if cluster.confidence is None else f"{cluster.confidence:.2f}",
        ", ".join(summary.clusters[near].title for near in cluster.neighbours[:3]),
    ]
    if summary.classes is not None:
        cells.append(
            "" if cluster.commonest is None else f"{cluster.commonest[0]} ({cluster.commonest[1]:.0%})"
        )
    return cells


def confidence_panel(summary: Summary) -> Html:
    """Show the distribution of the confidence as a histogram, and its numbers."""
    sample = summary.sample
    # Not from the histogram: a row at 0.5 lies in the step that begins there. Memberships may be float32.
    high = float(np.average(sample.confidence >= 0.9 - 1e-6, weights=sample.weights))
    low = float(np.average(sample.confidence <= 0.5 + 1e-6, weights=sample.weights))
    words = f"{high:.0%} of the rows have a confidence of 0.9 or more, {low:.0%} of 0.5 or less."
    note = f"Membership of a row in its own cluster. {words}"
    if len(summary.sample.rows) < summary.n_rows:
        note += " Estimated from the sample."
    drawn = histogram("confidence", summary.histogram, words=words)
    return section("confidence", "Confidence", drawn, note=note)


def uncertain_panel(summary: Summary) -> Html:
    """List the rows with the lowest confidence, or say that none stands out."""
    sample = summary.sample
    if not summary.least_certain:
        return section("uncertain", "Least certain rows", note=_none_stands_out(summary))
    listed = [
        (
            int(sample.rows[position]),
            [
                summary.clusters[sample.labels[position]].title,
                summary.clusters[sample.second[position]].title if sample.n_clusters > 1 else "none",
                f"{sample.confidence[position]:.3f}",
            ],
        )
        for position in summary.least_certain
    ]
    tables = row_tables(summary, "Least certain rows", ["Cluster", "Runner-up", "Confidence"], listed)
    rows = counted(len(listed), "row" if len(sample.rows) == summary.n_rows else "sampled row")
    note = f"The {rows} with the lowest confidence: look here first."
    return section("uncertain", "Least certain rows", tables, note=note)


def _none_stands_out(summary: Summary) -> str:
    """Say in one sentence why there is no row to look at first."""
    sample = summary.sample
    if sample.n_clusters == 1:
        return "There is only one cluster, so no row lies between two."
    row = "row" if len(sample.rows) == summary.n_rows else "sampled row"
    if sample.confidence.min() >= CERTAIN:
        return f"The model is certain of every {row}: none has a confidence below {CERTAIN:g}."
    same = f"{sample.confidence.mean():.2f}"
    return f"Every {row} has the same confidence, {same}: none is less certain than the others."


def training_panel(summary: Summary) -> Html:
    """Show the training curves, each on its own scale; drawn by the page's script, with a table behind."""
    training, views = summary.training, [name for name, _ in summary.views]
    if not training.curves:
        return section("training", "Training", note="The model keeps no history of its training.")
    titles = [curve_title(curve.name, views) for curve in training.curves]
    plots = [
        element("figure", element("figcaption", title), _curve_plot(title, curve))
        for title, curve in zip(titles, training.curves, strict=True)
    ]
    repeats = len(training.phases) == 1 and training.phases[0].name == training.unit
    phases = "" if repeats else ", ".join(phase.words for phase in training.phases)
    note = counted(training.steps, training.unit) + (f" in phases: {phases}." if phases else ".")
    parts = [details("Curves", element("div", *plots, class_="curves"))]
    if summary.ambiguity is not None:
        parts.append(_meaning_table(titles, training.curves))
    parts.append(details("Numbers in a table", _curve_table(summary, titles)))
    return section("training", "Training", *parts, note=note)


def _meaning_table(titles: list[str], curves: list[Curve]) -> Html:
    """List the training metrics with their first and last value and what they mean."""
    rows = []
    for title, curve in zip(titles, curves, strict=True):
        known = [value for value in curve.values if value is not None]
        if meaning := curve_meaning(curve.name):
            rows.append([title, f"{known[0]:.3g}", f"{known[-1]:.3g}", meaning])
    headings = ["Metric", "First", "Last", "What it means"]
    return table("Training metrics", headings, rows, class_="meanings") if rows else Html("")


def _curve_plot(title: str, curve: Curve) -> Html:
    known = [value for value in curve.values if value is not None]
    label = f"Curve of {title}, from {known[0]:.4g} to {known[-1]:.4g}, lowest {min(known):.4g}"
    return element("div", class_="plot curve", role="img", aria_label=label)


def _curve_table(summary: Summary, titles: list[str]) -> Html:
    training = summary.training
    step = -(-training.steps // _TABLE_STEPS)
    listed = sorted({*range(1, training.steps + 1, step), training.steps})
    phase_of = {at: phase.name for phase in training.phases for at in range(phase.start, phase.stop + 1)}
    headings = [training.unit.capitalize(), *(["Phase"] if phase_of else []), *titles]
    rows = []
    for at in listed:
        values = (curve.values[at - 1] for curve in training.curves)
        numbers = ["" if value is None else f"{value:.5g}" for value in values]
        rows.append([at, *([phase_of[at]] if phase_of else []), *numbers])
    caption = "Training" if step == 1 else f"Training, every {ordinal(step)} {training.unit} and the last"
    return table(caption, headings, rows)


def ordinal(number: int) -> str:
    """Write an ordinal number.

    Examples
    --------
    >>> ordinal(2), ordinal(5), ordinal(12), ordinal(23)
    ('2nd', '5th', '12th', '23rd')
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 10 < number % 100 < 14 else endings.get(number % 10, 'th')}"


def answers_panel(answers: Sequence[str]) -> Html:
    """List a person's answers, oldest first; nothing where there are none."""
    if not answers:
        return Html("")
    listed = element("ol", *(element("li", words) for words in answers), class_="answer-list")
    folded = details(f"All {len(answers):,} answers", listed) if len(answers) > _ANSWERS_UNFOLDED else listed
    note = "A person's corrections to these clusters, oldest first; the clusters above follow them."
    return section("answers", "Answers", folded, note=note)


def parameters_panel(summary: Summary) -> Html:
    """List what it takes to repeat the run."""
    parameters = table("Parameters", ["Parameter", "Value"], summary.parameters.items(), class_="code")
    versions = table("Versions", ["Package", "Version"], summary.versions.items(), class_="code")
    tables = element("div", parameters, versions, class_="columns")
    return section("parameters", "Parameters and versions", details("All of them", tables))
