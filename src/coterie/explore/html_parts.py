"""Small pieces that several parts of the page use."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coterie.explore.markup import Html, details, element, join, table, text
from coterie.explore.pictures import data_uri
from coterie.explore.summary import Summary

_CARDS_WITH_IMAGES = 24
_CARDS_WITH_FEATURES = 12


def section(identifier: str, heading: str, *children: object, note: object = None) -> Html:
    """Build a section with its heading and an optional sentence that says how to read it."""
    lead = [] if note is None else [element("p", note, class_="note")]
    return element(
        "section",
        element("h2", heading, id=f"{identifier}-heading"),
        *lead,
        *children,
        id=identifier,
        aria_labelledby=f"{identifier}-heading",
    )


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def folded_cards(cards: Sequence[Html], *, pictures: bool) -> list[Html]:
    """Lay cards out in a grid, with those beyond the first few folded away; cards of pictures are smaller."""
    kind, first = ("cards pictures", _CARDS_WITH_IMAGES) if pictures else ("cards", _CARDS_WITH_FEATURES)
    parts = [element("div", *cards[:first], class_=kind)]
    if len(cards) > first:
        rest = element("div", *cards[first:], class_=kind)
        parts.append(details(f"Show the other {len(cards) - first} clusters", rest))
    return parts


def swatch(colour: str) -> Html:
    """Show a colour as a small square."""
    return element("span", "", class_="swatch", style=f"background:{colour}", aria_hidden="true")


def image(source: str, alt: str) -> Html:
    """Show an image that is drawn only when it scrolls into sight."""
    return Html(f'<img src="{text(source)}" alt="{text(alt)}" title="{text(alt)}" loading="lazy">')


def thumbnail(summary: Summary, row: int, alt: str) -> Html:
    """Show a row as a small image; nothing when rows are not images."""
    if summary.thumbnails is None or row not in summary.thumbnails.rows:
        return Html("")
    return image(data_uri(summary.thumbnails.rows[row]), alt)


def listed_rows(
    summary: Summary, caption: str, headings: Sequence[str], listed: Sequence[tuple[int, Sequence[object]]]
) -> Html:
    """List rows side by side in two tables, with their images and known classes where there are any.

    Parameters
    ----------
    summary : Summary
    caption : str
        What the rows are.
    headings : sequence of str
        Of the cells between image and class.
    listed : sequence of (int, cells)
        Number of each row and its cells.
    """
    pictures, classes = summary.thumbnails is not None, summary.classes
    heads = ["Row", *(["Image"] if pictures else []), *headings, *(["Known class"] if classes else [])]
    rows: list[list[object]] = []
    for row, cells in listed:
        shown: list[object] = [row]
        if pictures:
            shown.append(thumbnail(summary, row, f"Row {row}"))
        shown += cells
        if classes is not None:
            code = classes.codes[row]
            shown.append(classes.names[code] if code >= 0 else "not labelled")
        rows.append(shown)
    half = -(-len(rows) // 2)
    halves = [
        table(f"{caption}, {which}", heads, part, quiet=True)
        for which, part in (("first half", rows[:half]), ("second half", rows[half:]))
        if part
    ]
    return element("div", *halves, class_="columns")


def histogram(name: str, counts: NDArray[np.floating], edges: NDArray[np.floating], *, words: str) -> Html:
    """Draw how rows spread over a quantity with plain boxes, and fold its numbers away below.

    Parameters
    ----------
    name : str
        The quantity, in small letters.
    counts : ndarray of shape (bins,)
        Rows in each step.
    edges : ndarray of shape (bins + 1,)
        Where the steps begin and end, evenly spaced.
    words : str
        What the histogram says, for those who cannot see it.
    """
    share = counts / counts.sum()
    steps = [f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges)]
    boxes = [
        element("i", "", style=f"height:{100 * part / share.max():.1f}%", title=f"{step}: {part:.1%}")
        for part, step in zip(share, steps, strict=True)
    ]
    plot = element("div", *boxes, class_="histogram", role="img", aria_label=f"Histogram of {name}. {words}")
    marks = (element("span", f"{mark:g}") for mark in np.linspace(edges[0], edges[-1], 5))
    numbers = table(
        f"Rows by {name}",
        [name.capitalize(), "Share of rows"],
        [[step, f"{part:.1%}"] for step, part in zip(steps, share, strict=True)],
    )
    return join([plot, element("div", *marks, class_="axis"), details("Numbers in a table", numbers)])
