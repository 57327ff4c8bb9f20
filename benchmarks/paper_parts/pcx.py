"""PC-X: its Table 6, Fig. 3 and A.3."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

SHORT = {"preset": "paper", "hidden": [512, 256], "max_epochs": 200}
"""The printed recipe with narrower layers and a fifth of the epochs: a fit of the whole takes CPU hours."""

CORRECTED = {"init": "kmeans", "relative_weights": True, "tau": 1, "centroid_weight": 0.3, "code_noise": 0.5}
FREE = {"hold": 0}
"""Labels that rows may leave: with those of the graph held, no part of the paper could change one."""

PAPER = Paper(
    "pcx",
    "PC-X",
    regimes={
        "printed": Regime("as printed", {"preset": "paper"}),
        "authors": Regime("the authors' code", {"preset": "authors"}),
        "paper": Regime("as printed, layers of 512 and 256, 200 epochs", SHORT),
        "corrected": Regime(
            "that with k-means, relative weights and noise on the code", {**SHORT, **CORRECTED}
        ),
        "start": Regime("as printed, those layers and epochs, from the graph", {**SHORT, "init": "graph"}),
        "free": Regime("the defaults, labels free", FREE),
        "ours": Regime("the defaults", {}),
        "graph": Regime("the graph alone", {}, "graphclustering"),
    },
    parts=(
        Part(
            "CI-Unit",
            "Eq. 3",
            {regime: ({}, {"ci_unit": False}) for regime in ("paper", "corrected", "start", "free", "ours")},
        ),
        Part(
            "moving centroids",
            "Eqs. 6 and 7",
            {
                regime: ({}, {"fixed_centroids": True})
                for regime in ("paper", "corrected", "start", "free", "ours")
            },
        ),
        Part(
            "minimum entropy",
            "Eq. 8",
            {regime: ({}, {"entropy_weight": 0}) for regime in ("paper", "corrected", "start", "free")},
        ),
        Part(
            "clustering loss",
            "Eq. 1",
            {regime: ({}, {"centroid_weight": 0}) for regime in ("paper", "free")},
        ),
        Part(
            "Eq. 6's memory",
            "Eq. 6",
            {"paper": ({"centroid_update": "eq6"}, {})},
        ),
        Part(
            "batches",
            "Fig. 3",
            {"paper": ({}, {"batch_size": 2000, "memory": 0.9616})},  # of as many rows: 0.995 ** (2000 / 256)
        ),
        Part(
            "IMBA",
            "Eqs. 10 to 14",
            {regime: ({"imbalance": True}, {}) for regime in ("paper", "free")},
            conditions=("uneven 0.2",),
        ),
    ),
    sets=("digits", "usps", "mnist", "fashion"),
    rows=2000,
)
