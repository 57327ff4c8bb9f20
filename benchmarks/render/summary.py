"""The table of the README, between two markers."""

from __future__ import annotations

from benchmarks.render.figures import amount, made_by, short, table
from benchmarks.render.peers import COMMAND
from benchmarks.render.standing import best, standings

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def with_summary(readme: str) -> str:
    """Return the README with a new table between the markers."""
    head, rest = readme.split(BEGIN)
    return f"{head}{BEGIN}\n{summary()}{END}{rest.split(END)[1]}"


def summary() -> str:
    """Return the best of our methods beside the best peer and k-means on each data set."""
    rows = []
    for name, methods in standings().items():
        mine, theirs = best(methods, ours=True), best(methods, ours=False)
        kmeans = next((one for one in methods if one.method == "k-means"), None)
        if mine is None or theirs is None or kmeans is None:
            continue
        rows.append(
            [
                name,
                mine.method,
                str(mine.accuracy),
                amount(mine.cpu_seconds),
                f"{theirs.method} {theirs.accuracy}",
                amount(theirs.cpu_seconds),
                short(kmeans.accuracy.mean),
            ]
        )
    headers = ("data", "best of ours", "ACC", "CPU s", "best peer, ACC", "CPU s", "k-means")
    return table(headers, rows) + "\n" + made_by(f"{COMMAND} && python -m benchmarks render")
