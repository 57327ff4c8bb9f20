"""SSCNet: blocks and joint training."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

PAPER = Paper(
    "sscnet",
    "SSCNet",
    regimes={"ours": Regime("the defaults", {})},
    parts=(
        Part("L-ADMM blocks", "Eqs. 4 to 11", {"ours": ({}, {"n_blocks": 0})}),
        Part("joint training", "Algorithm 1", {"ours": ({}, {"joint": False})}),
    ),
    sets=("digits", "usps", "coil20", "mnist"),
    rows=2000,
)
