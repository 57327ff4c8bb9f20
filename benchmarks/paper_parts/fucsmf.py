"""FUCSMF: Algorithm 1's loop, label information and the sweeps of Figs. 3 to 11."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

GAMMAS = (0.05, 0.1, 0.2, 0.8, 1.6)
LAMBDAS = (0.01, 1, 10, 1000, 10000)
ANCHORS = (100, 300, 1000)
HARMONIC = {"smoothness": 1e6}
"""Without the factorisation: as lambda grows, the minimum is the harmonic solution of the graph."""

PAPER = Paper(
    "fucsmf",
    "FUCSMF",
    regimes={
        "paper": Regime("as printed", {"preset": "paper"}),
        "corrected": Regime(
            "that with our weights, labels and smoothness, graph fixed",
            {
                "preset": "paper",
                "adapt": 0,
                "gamma": "auto",
                "sigma": "auto",
                "smoothness": 1000,
                "label_scale": "balanced",
            },
        ),
        "ours": Regime("the defaults"),
    },
    parts=(
        Part(
            "adaptive graph, Algorithm 1",
            "Eqs. 26 to 28",
            {"paper": ({}, {"adapt": 0}), "ours": ({"adapt": 5, "adaptation": "printed", "gamma": 0.4}, {})},
        ),
        Part(
            "the same with the authors' weight", "their code", {"paper": ({"coupling": 0.005}, {"adapt": 0})}
        ),
        Part(
            "adaptive graph, anchored (ours)",
            "-",
            {"paper": ({"adaptation": "anchored"}, {"adapt": 0}), "ours": ({"adapt": 5}, {})},
        ),
        Part(
            "factorisation beside smoothness",
            "Eq. 19",
            {"paper": ({}, HARMONIC), "ours": ({}, HARMONIC)},
        ),
        Part("k-means anchors", "Algorithm 1", {"paper": ({}, {"anchors": "random"})}),
    ),
    sets=("coil20", "yaleb", "letter", "usps", "mnist"),
    rows=2000,
    conditions=("labels 1", "labels 5", "labels 0.3"),
    sweeps={
        "gamma": ("Figs. 6 to 8", GAMMAS),
        "smoothness": ("Figs. 6 to 8", LAMBDAS),
        "n_anchors": ("Figs. 9 to 11", ANCHORS),
    },
)
