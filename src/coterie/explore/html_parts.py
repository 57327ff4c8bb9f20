"""HTML parts: elements in which text from the data stays text, and what several sections share."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.explore.distributions import Spread
from coterie.explore.pictures import data_uri
from coterie.explore.summary import Summary

_CARDS_WITH_IMAGES = 24
_CARDS_WITH_FEATURES = 12
MOST_LISTED = 20


class Html(str):
    """Well-formed HTML; every other string is text and gets escaped."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value for use between tags or inside a quoted attribute; leave `Html` as it is.

    Examples
    --------
    >>> text("a < b"), text(Html("<b>bold</b>"))
    ('a &lt; b', '<b>bold</b>')
    """
    return value if isinstance(value, Html) else Html(escape(str(value)))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Join parts, escaping those that are not HTML."""
    return Html(separator.join(text(part) for part in parts))


def element(name: str, *children: object, **attributes: object) -> Html:
    """Build an element; `class_` and `aria_label` become `class` and `aria-label`, None is left out.

    Examples
    --------
    >>> element("p", "1 < 2", class_="note", id=None)
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def table(
    caption: str,
    headings: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    class_: str | None = None,
    quiet: bool = False,
) -> Html:
    """Build a table that scrolls sideways on a narrow screen; the first cell of a row is its heading.

    A `quiet` caption is for screen readers only, where a heading above says the same.
    """
    head = join(element("th", heading, scope="col") for heading in headings)
    body = join(
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:]))
        for row in rows
    )
    inner = element(
        "table",
        element("caption", element("span", caption, class_="hidden") if quiet else caption),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_=class_,
    )
    return element("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)


def details(summary: object, *children: object) -> Html:
    """Build a part that is folded away until it is opened."""
    return element("details", element("summary", summary), *children)


def cluster_table(
    caption: str, headings: Sequence[object], rows: Sequence[Sequence[object]], **options: Any
) -> tuple[Html, list[Html]]:
    """Build a table of the first twenty clusters, and one of all, folded away, where there are more."""
    first = table(caption, headings, rows[:MOST_LISTED], **options)
    if len(rows) <= MOST_LISTED:
        return first, []
    whole = table(f"{caption}, all clusters", headings, rows, class_=options.get("class_"))
    return first, [details(f"All {len(rows)} clusters in a table", whole)]


def json_for_script(value: Any) -> Html:
    r"""Write JSON that can stand inside a script element whatever strings it holds.

    Examples
    --------
    >>> print(json_for_script({"a < b": True}))
    {"a \u003c b":true}
    """
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Html(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


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


def folded_cards(cards: Sequence[Html], *, pictures: bool) -> list[Html]:
    """Lay cards out in a grid, those beyond the first few folded away; cards with pictures are smaller."""
    kind, first = ("cards pictures", _CARDS_WITH_IMAGES) if pictures else ("cards", _CARDS_WITH_FEATURES)
    parts = [element("div", *cards[:first], class_=kind)]
    if len(cards) > first:
        rest = element("div", *cards[first:], class_=kind)
        parts.append(details(f"Show the other {len(cards) - first} clusters", rest))
    return parts


def swatch(colour: str) -> Html:
    """Show a colour as a small square."""
    return element("span", "", class_="swatch", style=f"background:{colour}", aria_hidden="true")


def figure(source: Html, caption: str) -> Html:
    """Show an image with a caption."""
    return element("figure", source, element("figcaption", caption))


def image(source: str, alt: str) -> Html:
    """Show an image that is loaded when it scrolls into view."""
    return Html(f'<img src="{text(source)}" alt="{text(alt)}" title="{text(alt)}" loading="lazy">')


def thumbnail(summary: Summary, row: int, alt: str) -> Html:
    """Show a row as a small image; nothing when rows are not images."""
    if summary.thumbnails is None or row not in summary.thumbnails.rows:
        return Html("")
    return image(data_uri(summary.thumbnails.rows[row]), alt)


def row_tables(
    summary: Summary, caption: str, headings: Sequence[str], listed: Sequence[tuple[int, Sequence[object]]]
) -> Html:
    """List rows in two tables side by side, with their images and known classes where there are any.

    `headings` are those of the cells between image and class; `listed` has the number and the cells of each row.
    """
    pictures, classes = summary.thumbnails is not None, summary.classes
    heads = ["Row", *(["Image"] if pictures else []), *headings, *(["Known class"] if classes else [])]
    rows = [
        [
            row,
            *([thumbnail(summary, row, f"Row {row}")] if pictures else []),
            *cells,
            *([classes.name_of(row)] if classes else []),
        ]
        for row, cells in listed
    ]
    half = -(-len(rows) // 2)
    halves = [
        table(f"{caption}, {which}", heads, part, quiet=True)
        for which, part in (("first half", rows[:half]), ("second half", rows[half:]))
        if part
    ]
    return element("div", *halves, class_="columns")


def histogram(name: str, counts: NDArray[np.floating], *, words: str) -> Html:
    """Draw how rows spread over a quantity from 0 to 1, in equal steps, with the numbers folded away below.

    `words` say what the histogram shows, for screen readers.
    """
    share = counts / counts.sum()
    steps = [f"{low:.2f} to {high:.2f}" for low, high in pairwise(np.linspace(0, 1, len(counts) + 1))]
    boxes = [
        element("i", "", style=f"height:{100 * part / share.max():.1f}%", title=f"{step}: {part:.1%}")
        for part, step in zip(share, steps, strict=True)
    ]
    plot = element("div", *boxes, class_="histogram", role="img", aria_label=f"Histogram of {name}. {words}")
    marks = (element("span", f"{mark:g}") for mark in np.linspace(0, 1, 5))
    numbers = table(
        f"Rows by {name}",
        [name.capitalize(), "Share of rows"],
        [[step, f"{part:.1%}"] for step, part in zip(steps, share, strict=True)],
    )
    return join([plot, element("div", *marks, class_="axis"), details("Numbers in a table", numbers)])


def overlaid(spread: Spread, about: str) -> Html:
    """Draw how a column spreads inside a group, filled, over how it spreads elsewhere, grey."""
    highest = max(*spread.inside, *spread.outside) or 1.0
    steps = len(spread.inside)

    def outline(shares: Sequence[float]) -> str:
        tops = (
            f"V{30 - 29 * share / highest:.1f}H{(i + 1) * 120 / steps:.1f}" for i, share in enumerate(shares)
        )
        return f"M0 30{''.join(tops)}V30Z"

    label = f"{about}: values from {spread.marks[0]:g} to {spread.marks[-1]:g}"
    return element(
        "svg",
        element("title", label),
        element("path", d=outline(spread.outside), class_="outside"),
        element("path", d=outline(spread.inside), class_="inside"),
        viewBox="0 0 120 30",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_="spread",
    )


def low_histogram(name: str, counts: NDArray[np.floating], words: str) -> Html:
    """Draw a histogram under a heading and a sentence, to stand next to another part."""
    drawn = histogram(name.lower(), counts, words=words)
    return element("div", element("h3", name), element("p", words, class_="about"), drawn, class_="low")
