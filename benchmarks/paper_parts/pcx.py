"""PC-X: Table 6, Fig. 3 and Fig. 4, A.3."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

FREE = {"hold": 0}
"""Labels that rows may leave: with those of the graph held, no part of the paper could change one."""

PAPER = Paper(
    "pcx",
    "PC-X",
    regimes={
        "paper": Regime("as printed", {"preset": "paper"}),
        "ours": Regime("the defaults", {}),
        "graph": Regime("the graph alone", {}, "graphclustering"),
    },
    parts=(
        Part(
            "CI-Unit",
            "Eq. 3",
            {"paper": ({}, {"ci_unit": False}), "ours": (FREE, {**FREE, "ci_unit": False})},
        ),
        Part(
            "moving centroids",
            "Eqs. 6 and 7",
            {"paper": ({}, {"fixed_centroids": True}), "ours": (FREE, {**FREE, "fixed_centroids": True})},
        ),
        Part(
            "minimum entropy",
            "Eq. 8",
            {"paper": ({}, {"entropy_weight": 0}), "ours": (FREE, {**FREE, "entropy_weight": 0})},
        ),
    ),
    sets=("digits", "usps", "mnist", "fashion"),
    rows=2000,
)
