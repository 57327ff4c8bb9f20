"""Small pieces that several parts of the page use."""

from coterie.explore.markup import Html, element, text
from coterie.explore.pictures import data_uri
from coterie.explore.summary import Summary


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
