"""The part of the page about several views."""

from coterie.explore.html_parts import counted, section
from coterie.explore.markup import Html, details, element, table
from coterie.explore.view_statistics import ViewFacts, ViewStatistics

SCALINGS = {
    "feature": "each column has mean 0 and standard deviation 1",
    "minmax": "each column runs from 0 to 1",
    "sample": "each row has length 1",
    "none": "values as they came",
    "angle": "each column has mean 0, then each row length 1",
    "feature-angle": "each column has mean 0 and standard deviation 1, then each row length 1",
    "root": "square roots, then each row has length 1",
}


def views_panel(viewing: ViewStatistics | None) -> Html:
    """Show what views count, which agree, which rows are missing or corrupt; nothing for one view."""
    if viewing is None:
        return Html("")
    facts = _facts(viewing.views)
    names = [one.name for one in viewing.views]
    agreement = table(
        "How much the views agree on which rows are near each other",
        ["View", *names],
        [[name, *(_share(viewing, a, b) for b in range(len(names)))] for a, name in enumerate(names)],
    )
    parts = [element("div", facts, agreement, class_="columns")]
    if viewing.corrupt:
        rows = [[one.row, one.view, f"{one.weight:.2f}"] for one in viewing.corrupt]
        listed = table("Corrupt rows that count least", ["Row", "View", "Weight"], rows)
        parts.append(details(f"{counted(len(rows), 'corrupt row')}, those that count least", listed))
    return section("views", "Views", *parts, note=_note(viewing))


def _facts(views: list[ViewFacts]) -> Html:
    """List the views, with the columns of which the model says something."""
    columns: dict[str, list[object]] = {
        "View": [one.name for one in views],
        "Explained": ["" if one.explained is None else f"{one.explained:.0%}" for one in views],
        "Weight": ["" if one.weight is None else f"{one.weight:.1%}" for one in views],
        "Agreement": [f"{one.agreement:.2f}" for one in views],
        "Missing rows": [f"{one.missing:,}" for one in views],
        "Corrupt rows": ["" if one.corrupt is None else f"{one.corrupt:,}" for one in views],
        "Scaling": [one.scaling for one in views],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return table("Views", list(columns), zip(*columns.values(), strict=True), quiet=True)


def _note(viewing: ViewStatistics) -> str:
    said, views = [], viewing.views
    if any(one.explained is not None for one in views):
        said.append("Explained: how much of a view the common code explains, of what it could at best.")
    if any(one.weight is not None for one in views):
        said.append("Weight: what a view counts in the consensus that is clustered; all add up to 100%.")
    said.append(
        "Agreement: how much oftener than by chance two views name the same neighbours, 1 at most; for one view the "
        "mean over the others."
    )
    said += [f"Scaling {mode!r}: {SCALINGS[mode]}." for mode in sorted({one.scaling for one in views})]
    if viewing.estimated:
        said.append("Missing rows are estimated from the sample.")
    return " ".join(said)


def _share(viewing: ViewStatistics, a: int, b: int) -> str:
    return "" if a == b else f"{viewing.agreement[a, b]:.2f}"
