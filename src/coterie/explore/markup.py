"""HTML in which text from the data stays text."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Html(str):
    """A piece of HTML that is known to be well formed; every other string is text and gets escaped."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value for use between tags or inside a quoted attribute; leave `Html` as it is.

    Examples
    --------
    >>> text("a < b")
    'a &lt; b'
    >>> text(Html("<b>bold</b>"))
    '<b>bold</b>'
    """
    return value if isinstance(value, Html) else Html(escape(str(value)))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Join pieces, escaping those that are not HTML.

    Examples
    --------
    >>> join(["a&b", Html("<br>")])
    'a&amp;b<br>'
    """
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

    A `quiet` caption is only for those who cannot see that a heading above says the same.

    Examples
    --------
    >>> '<th scope="row">x</th><td>1</td>' in table("Numbers", ["name", "value"], [("x", 1)])
    True
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
    """Build a part that is folded away until asked for.

    Examples
    --------
    >>> details("More", "text")
    '<details><summary>More</summary>text</details>'
    """
    return element("details", element("summary", summary), *children)


def json_for_script(value: Any) -> Html:
    r"""Write JSON that can stand inside a script element whatever strings it holds.

    Examples
    --------
    >>> print(json_for_script({"a < b": True}))
    {"a \u003c b":true}
    """
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Html(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
