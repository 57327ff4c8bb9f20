"""MVSIB: its modules one by one, also with uneven classes, noisy and missing views."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

PAPER = Paper(
    "mvsib",
    "MVSIB",
    regimes={"ours": Regime("the defaults", {})},
    parts=(
        Part("cluster contrast", "Eq. 36", {"ours": ({"cluster_weight": 0.1}, {})}),
        Part("curriculum", "Sec. 3.6", {"ours": ({}, {"curriculum": None})}),
    ),
    sets=("prokaryotic", "hdigit", "cora"),
    rows=2000,
    conditions=("complete", "uneven", "noisy", "missing"),
)
