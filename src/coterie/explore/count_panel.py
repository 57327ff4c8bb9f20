"""The section about the number of clusters, where it was estimated from the rows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coterie.errors import counted
from coterie.explore.html_parts import Html, details, element, join, section, swatch, table
from coterie.explore.palette import colours

if TYPE_CHECKING:
    from coterie.methods.choosing.clusters import KChoice

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 720, 260, 34, 22, 8
_MARKS = 10
_ROOM = 24
# From the name of a figure to what it means.
_FIGURES = {
    "score": "the criterion: drop x log of the number x modularity x stability",
    "drop": "how much the linkage of clusters falls, in logs, when a merge leaves fewer",
    "stability": "how far clusters of resampled graphs agree; 1 is perfect, 0 is chance",
    "modularity": "how much more of the neighbours clusters keep together than chance would",
}


def count_panel(choice: "KChoice | None") -> Html:
    """Show the figures of each number of clusters; nothing where the number was given."""
    if choice is None:
        return Html("")
    paints = dict(zip(_FIGURES, colours(len(_FIGURES)), strict=True))
    legend = [
        element("li", swatch(paints[name]), f" {name.capitalize()}: {meaning}")
        for name, meaning in _FIGURES.items()
    ]
    numbers = table(
        "Figures of each number of clusters",
        ["Clusters", *(name.capitalize() for name in _FIGURES)],
        [[figures.k, *(f"{getattr(figures, name):.3f}" for name in _FIGURES)] for figures in choice.figures],
    )
    return section(
        "count",
        "How many clusters",
        _plot(choice, paints),
        element("ul", *legend, class_="about"),
        details("Numbers in a table", numbers),
        note=f"{choice.sentence} Estimated from {counted(choice.n_rows, 'row')}.",
    )


def _plot(choice: "KChoice", paints: dict[str, str]) -> Html:
    """Draw the figures over the number of clusters, which grows by equal factors to the right."""
    ks = [figures.k for figures in choice.figures]
    span = math.log(ks[-1] / ks[0]) or 1.0
    values = {name: [getattr(figures, name) for figures in choice.figures] for name in _FIGURES}
    low = min(0.0, *(min(line) for line in values.values()))
    high = max(1.0, *(max(line) for line in values.values()))

    def across(k: int) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 12) * math.log(k / ks[0]) / span, 1)

    def up(value: float) -> float:
        return round(_ABOVE + (_HEIGHT - _ABOVE - _BELOW) * (high - value) / (high - low), 1)

    def label(x: float, y: float, words: object, anchor: str) -> Html:
        return element("text", words, x=x, y=y, text_anchor=anchor, fill="currentColor", font_size=12)

    chosen = across(choice.k)
    rules = [_line([(_LEFT, up(v)), (_WIDTH, up(v))], "currentColor", opacity=0.15) for v in (0, 0.5, 1)]
    heights = [label(_LEFT - 6, up(v) + 4, f"{v:g}", "end") for v in (0, 0.5, 1)]
    others = [k for k in ks[:: max(1, len(ks) // _MARKS)] if abs(across(k) - chosen) > _ROOM]
    marks = [label(across(k), _HEIGHT - 5, k, "middle") for k in (*others, choice.k)]
    here = _line([(chosen, _ABOVE), (chosen, _HEIGHT - _BELOW)], "currentColor", stroke_dasharray="4 4")
    curves = [
        _line(list(zip(map(across, ks), map(up, line), strict=True)), paints[name], stroke_width=2)
        for name, line in values.items()
    ]
    return element(
        "svg",
        join([*rules, *heights, *marks, here, *curves]),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"Four figures over {ks[0]} to {ks[-1]} clusters; {choice.k} were chosen.",
        style="width:100%;max-width:720px",
    )


def _line(points: Sequence[tuple[float, float]], stroke: str, **options: object) -> Html:
    where = " ".join(f"{x:g},{y:g}" for x, y in points)
    return element("polyline", points=where, fill="none", stroke=stroke, **options)
