"""The parts of the page: each turns a summary into a piece of HTML that also reads well without its plot."""

from collections.abc import Iterable, Sequence

import numpy as np

from coterie.explore.html_parts import counted, histogram, listed_rows, section, swatch
from coterie.explore.markup import Html, details, element, join, table
from coterie.explore.palette import colours
from coterie.explore.summary import SURE, Cluster, Summary
from coterie.explore.training import curve_title

_BARS = 20
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
    if not summary.scores:
        return Html("")
    headings = ["Clustering", *_SCORE_NAMES.values()]
    rows = [[name, *(f"{found[key]:.3f}" for key in _SCORE_NAMES)] for name, found in summary.scores.items()]
    classes = summary.classes
    unlabelled = 0 if classes is None else int((classes.codes < 0).sum())
    note = "How well the clusters agree with the known classes; 1 is perfect."
    if unlabelled:
        note += f" {counted(unlabelled, 'row')} without a known class left out."
    shown = table("Scores against the known classes", headings, rows, quiet=True)
    return section("scores", "Agreement with known classes", shown, note=note)


def map_panel(summary: Summary) -> Html:
    """Show the map with its controls; the plot itself is drawn by the page's script."""
    modes = {"cluster": "Cluster", "confidence": "Confidence"}
    if summary.classes is not None:
        modes["class"] = "Known class"
    choices = (element("label", _radio(mode, mode == "cluster"), name) for mode, name in modes.items())
    switch = element("fieldset", element("legend", "Colour by"), *choices, class_="switch")
    used = [cluster for cluster in summary.clusters if cluster.size]
    palette = colours(len(summary.clusters))
    chips = [_chips("cluster", "Clusters", [(c.number, c.title, palette[c.number]) for c in used])]
    if summary.classes is not None:
        paints = colours(len(summary.classes.names))
        named = zip(summary.classes.names, paints, strict=True)
        chips.append(
            _chips("class", "Known classes", [(c, name, paint) for c, (name, paint) in enumerate(named)])
        )
    described = f"Map of {len(summary.sample.rows):,} rows, coloured by cluster"
    plot = element("div", id="map-plot", class_="plot map", role="img", aria_label=described)
    sample, n = len(summary.sample.rows), summary.n_rows
    whole = f"All {n:,} rows" if sample == n else f"{sample:,} of {n:,} rows, small clusters included,"
    note = (
        f"{whole} laid out by {_how(summary.projection.method)}. Diamonds mark the exemplars. "
        "Press the buttons below the map to pick out groups."
    )
    return section("map", "Map", switch, plot, *chips, note=note)


def _radio(mode: str, checked: bool) -> Html:
    return Html(f'<input type="radio" name="colour" value="{mode}"{" checked" if checked else ""}>')


def _how(method: str) -> str:
    if method == "t-SNE":
        return (
            "t-SNE of the model's embedding (near rows are alike; distances between far groups mean little)"
        )
    if method == "PCA":
        return "the two main directions (PCA) of the model's embedding"
    return "the model's own two-dimensional embedding"


def _chips(mode: str, label: str, groups: list[tuple[int, str, str]]) -> Html:
    buttons = [
        element(
            "button",
            swatch(colour),
            name,
            type="button",
            aria_pressed="false",
            data_group=number,
        )
        for number, name, colour in groups
    ]
    clear = element("button", "Show all", type="button", class_="clear")
    return element("div", clear, *buttons, class_="chips", role="group", aria_label=label, data_mode=mode)


def sizes_panel(summary: Summary) -> Html:
    """Show how many rows each cluster has, the largest first, as a table with bars."""
    ordered = sorted(summary.clusters, key=lambda cluster: -cluster.size)
    largest = max(cluster.size for cluster in ordered)
    palette = colours(len(ordered))
    rows = [_size_row(cluster, summary, largest, palette[cluster.number]) for cluster in ordered]
    headings = ["Cluster", Html('<span class="hidden">Bar</span>'), "Rows", "Share", "Confidence", "Nearest"]
    if summary.classes is not None:
        headings.append("Commonest class")
    shown = table("Rows in each cluster", headings, rows[:_BARS], class_="sizes", quiet=True)
    if len(rows) <= _BARS:
        return section("sizes", "Cluster sizes", shown)
    everything = table("Rows in each cluster, all clusters", headings, rows, class_="sizes")
    return section(
        "sizes",
        "Cluster sizes",
        shown,
        details(f"All {len(rows)} clusters in a table", everything),
        note=f"The {_BARS} largest of {len(rows)}.",
    )


def _size_row(cluster: Cluster, summary: Summary, largest: int, colour: str) -> list[object]:
    cells: list[object] = [
        join([swatch(colour), cluster.title]),
        _bar(100 * cluster.size / largest, colour),
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


def _bar(percent: float, colour: str | None = None) -> Html:
    paint = "" if colour is None else f";background:{colour}"
    return element(
        "div", element("i", "", style=f"width:{percent:.1f}%{paint}"), class_="bar", aria_hidden="true"
    )


def confidence_panel(summary: Summary) -> Html:
    """Show how sure the model is: a histogram drawn with plain boxes, and its numbers."""
    counts = summary.histogram
    edges = np.linspace(0, 1, len(counts) + 1)
    sample = summary.sample
    # Not from the histogram: a row at 0.5 lies in the step that begins there. Memberships may be float32.
    sure = float(np.average(sample.confidence >= 0.9 - 1e-6, weights=sample.weights))
    unsure = float(np.average(sample.confidence <= 0.5 + 1e-6, weights=sample.weights))
    words = f"{sure:.0%} of the rows have a confidence of 0.9 or more, {unsure:.0%} of 0.5 or less."
    note = f"Membership of a row in its own cluster. {words}"
    if len(summary.sample.rows) < summary.n_rows:
        note += " Estimated from the sample."
    shown = histogram("confidence", counts, edges, words=words)
    return section("confidence", "Confidence", shown, note=note)


def uncertain_panel(summary: Summary) -> Html:
    """List the rows of which the model is least sure, or say that none stands out."""
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
    shown = listed_rows(summary, "Least certain rows", ["Cluster", "Runner-up", "Confidence"], listed)
    where = "" if len(sample.rows) == summary.n_rows else " among the sampled ones"
    note = (
        f"The {counted(len(listed), 'row')}{where} that the model could place least clearly: look here first."
    )
    return section("uncertain", "Least certain rows", shown, note=note)


def _none_stands_out(summary: Summary) -> str:
    """Say in one sentence why there is no row to look at first."""
    sample = summary.sample
    if sample.n_clusters == 1:
        return "There is only one cluster, so no row lies between two."
    row = "row" if len(sample.rows) == summary.n_rows else "sampled row"
    if sample.confidence.min() >= SURE:
        return f"The model is sure of every {row}: none has a confidence below {SURE:g}."
    alike = f"{sample.confidence.mean():.2f}"
    return f"Every {row} has the same confidence, {alike}: none is less certain than the others."


def training_panel(summary: Summary) -> Html:
    """Show the training curves, each on its own scale; drawn by the page's script, with a table behind."""
    training = summary.training
    if not training.curves:
        return section("training", "Training", note="The model keeps no history of its training.")
    plots = [
        element(
            "figure",
            element("figcaption", title),
            element("div", class_="plot curve", role="img", aria_label=_described(title, curve.values)),
        )
        for title, curve in zip(_curve_titles(summary), training.curves, strict=True)
    ]
    told = [phase for phase in training.phases if phase.name != training.unit or len(training.phases) > 1]
    phases = ", ".join(phase.words for phase in told)
    note = counted(training.steps, training.unit) + (f" in phases: {phases}." if phases else ".")
    return section(
        "training",
        "Training",
        element("div", *plots, class_="curves"),
        details("Numbers in a table", _curve_table(summary)),
        note=note,
    )


def _curve_titles(summary: Summary) -> list[str]:
    views = [name for name, _ in summary.views]
    return [curve_title(curve.name, views) for curve in summary.training.curves]


def _described(name: str, values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"Curve of {name}, from {known[0]:.4g} to {known[-1]:.4g}, lowest {min(known):.4g}"


def _curve_table(summary: Summary) -> Html:
    training = summary.training
    step = -(-training.steps // _TABLE_STEPS)
    shown = sorted({*range(1, training.steps + 1, step), training.steps})
    phase_of = {at: phase.name for phase in training.phases for at in range(phase.start, phase.stop + 1)}
    first = [training.unit.capitalize(), *(["Phase"] if phase_of else [])]
    headings = [*first, *_curve_titles(summary)]
    rows = []
    for at in shown:
        values = (curve.values[at - 1] for curve in training.curves)
        numbers = ["" if value is None else f"{value:.5g}" for value in values]
        rows.append([at, *([phase_of[at]] if phase_of else []), *numbers])
    caption = "Training" if step == 1 else f"Training, every {step}th {training.unit} and the last"
    return table(caption, headings, rows)


def answers_panel(answers: Sequence[str]) -> Html:
    """List what a person said, oldest first; nothing where nobody said anything."""
    if not answers:
        return Html("")
    said = element("ol", *(element("li", words) for words in answers), class_="spoken")
    folded = details(f"All {len(answers):,} answers", said) if len(answers) > _ANSWERS_UNFOLDED else said
    note = "What a person said about these clusters, oldest first; the clusters above follow it."
    return section("answers", "Answers", folded, note=note)


def parameters_panel(summary: Summary) -> Html:
    """List what it takes to repeat the run."""
    parameters = table("Parameters", ["Parameter", "Value"], summary.parameters.items(), class_="code")
    versions = table("Versions", ["Package", "Version"], summary.versions.items(), class_="code")
    return section(
        "parameters", "Parameters and versions", element("div", parameters, versions, class_="columns")
    )
