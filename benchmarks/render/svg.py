"""Small plots as SVG text: the same records give the same bytes on every machine, and no library is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5db7", "#b7791f", "#4a4a4a", "#17a2a2", "#a0522d")
GREY = "#9a9a9a"
_WIDTH, _HEIGHT = 250, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 10, 24, 34


@dataclass(frozen=True)
class Series:
    """Points with a name; joined by a line, or each with a label."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    line: bool = True
    labels: Sequence[str] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One plot with axes."""

    title: str
    series: Sequence[Series]
    x_name: str
    log_x: bool = False


def drawing(panels: Sequence[Panel], columns: int, legend: Sequence[tuple[str, str]] = ()) -> str:
    """Return panels side by side, with a legend of names and colours above them."""
    rows = math.ceil(len(panels) / columns)
    above = 20 if legend else 0
    width, height = columns * _WIDTH, rows * _HEIGHT + above
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    x = 10.0
    for name, colour in legend:
        parts.append(f'<circle cx="{x:.1f}" cy="11" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 8:.1f}" y="15">{escape(name)}</text>')
        x += 22 + 6 * len(name)
    for number, panel in enumerate(panels):
        left, top = number % columns * _WIDTH, number // columns * _HEIGHT + above
        parts.append(f'<g transform="translate({left},{top})">{"".join(_panel(panel))}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel) -> list[str]:
    places = [point for series in panel.series for point in series.points]
    xs, ys = [_x(panel, p[0]) for p in places], [p[1] for p in places]
    low, high = _bounds(xs)
    floor, ceiling = max(0.0, min(ys) - 0.05), min(1.0, max(ys) + 0.05)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = (_x(panel, point[0]) - low) / (high - low)
        up = (point[1] - floor) / (ceiling - floor)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [_text(_WIDTH / 2, 14, panel.title, "middle", bold=True), _text(4, 14, "ACC", "start", size=8)]
    parts += _axes(panel, at, (low, high), (floor, ceiling))
    for series in panel.series:
        parts += _drawn(series, [at(point) for point in series.points])
    return parts


def _drawn(series: Series, places: Sequence[tuple[float, float]]) -> list[str]:
    parts = []
    if series.line:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashes = ' stroke-dasharray="3 3"' if series.dashed else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{series.colour}" stroke-width="1.5"{dashes}/>'
        )
    if not series.dashed:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{series.colour}"/>' for x, y in places]
    for (x, y), label in zip(places, series.labels, strict=False):
        anchor = "end" if x > _WIDTH * 0.6 else "start"
        parts.append(
            _text(x + (-5 if anchor == "end" else 5), y - 4, label, anchor, colour=series.colour, size=8)
        )
    return parts


def _axes(
    panel: Panel,
    at: Callable[[tuple[float, float]], tuple[float, float]],
    across: tuple[float, float],
    up: tuple[float, float],
) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    parts = [
        f'<path d="M{_LEFT},{_TOP} V{bottom} H{_WIDTH - _RIGHT}" fill="none" stroke="#444"/>',
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, panel.x_name, "middle"),
    ]
    for value in _ticks(*across, whole=panel.log_x):
        shown = 10**value if panel.log_x else value
        x, _ = at((shown, up[0]))
        parts += [
            f'<path d="M{x:.1f},{bottom} v3" stroke="#444"/>',
            _text(x, bottom + 13, _number(shown), "middle", size=8),
        ]
    for value in _ticks(*up):
        _, y = at((1.0 if panel.log_x else across[0], value))
        parts += [
            f'<path d="M{_LEFT - 3},{y:.1f} h3" stroke="#444"/>',
            _text(_LEFT - 5, y + 3, f"{value:.2f}", "end", size=8),
        ]
    return parts


def _x(panel: Panel, value: float) -> float:
    return math.log10(max(value, 0.01)) if panel.log_x else value


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return three to six round values between two ends."""
    step = 10 ** math.floor(math.log10((high - low) / 2))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= 5:
            step *= factor
            break
    step = max(1, round(step)) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [round(step * i, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"


def _text(
    x: float, y: float, words: str, anchor: str, *, size: int = 10, colour: str = "#222", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )
