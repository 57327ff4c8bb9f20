"""The part of the page about several views."""

from coterie.explore.markup import Html, details, element, table
from coterie.explore.pieces import counted, section
from coterie.explore.viewing import Viewing


def views_panel(viewing: Viewing | None) -> Html:
    """Show which views agree, which rows are corrupt, which are missing; nothing for one view."""
    if viewing is None:
        return Html("")
    facts = table(
        "Views",
        ["View", "Explained", "Missing rows", "Corrupt rows", "Scaling"],
        [
            [one.name, f"{one.explained:.0%}", f"{one.missing:,}", f"{one.corrupt:,}", one.scaling]
            for one in viewing.views
        ],
        quiet=True,
    )
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
    note = (
        "Explained: how much of a view the common code explains, of what it could at best. "
        "Agreement: how much oftener than by chance two views name the same neighbours, 1 at most."
    )
    return section("views", "Views", *parts, note=note)


def _share(viewing: Viewing, a: int, b: int) -> str:
    return "" if a == b else f"{viewing.agreement[a, b]:.2f}"
