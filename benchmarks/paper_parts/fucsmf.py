"""FUCSMF: labels for 1 to 30 % of the rows, the adaptive graph, the weight of labels."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

PAPER = Paper(
    "fucsmf",
    "FUCSMF",
    regimes={"ours": Regime("the defaults", {})},
    parts=(Part("adaptive graph", "Eqs. 26 to 28", {"ours": ({"adapt": 3}, {})}),),
    sets=("coil20", "yaleb", "letter", "usps", "mnist"),
    rows=3000,
    conditions=("labels 1", "labels 5", "labels 0.3"),
)
