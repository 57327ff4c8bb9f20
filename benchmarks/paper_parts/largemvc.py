"""LargeMvC-Net: its ablations (appendix, Table 1), layers, training, and missing rates from 0.1 to 0.9."""

from typing import Any

from benchmarks.paper_parts.parts import Paper, Part, Regime

TRAINED = {"max_epochs": 100}
Change = dict[str, Any]


def _everywhere(with_it: Change, without: Change) -> dict[str, tuple[Change, Change]]:
    return dict.fromkeys(("paper", "free", "ours"), (with_it, without))


PAPER = Paper(
    "largemvcnet",
    "LargeMvC-Net",
    regimes={
        "paper": Regime("as printed", {"preset": "paper"}),
        "authors": Regime("the authors' code", {"preset": "authors"}),
        "free": Regime("as printed, from the graph", {"preset": "paper", "init": "graph"}),
        "ours": Regime("the defaults", {}),
        "graph": Regime("the graph alone", {}, "graphclustering"),
    },
    parts=(
        Part("NoiseModule", "Eq. 12", _everywhere({}, {"noise": False})),
        Part(
            "AnchorModule", "Eq. 13", _everywhere({"noise": False}, {"noise": False, "fixed_anchors": True})
        ),
        Part("unfolding", "Sec. 3.2", _everywhere({}, {"n_layers": 1})),
        Part(
            "training",
            "Eq. 14",
            {
                **{regime: ({}, {"max_epochs": 0}) for regime in ("paper", "free")},
                "ours": ({**TRAINED, "loss": "recon"}, {}),
            },
        ),
        Part(
            "SELU, not ReLU", "Eq. 11", {regime: ({"threshold": "selu"}, {}) for regime in ("paper", "free")}
        ),
    ),
    sets=(
        "msrc_v1",
        "3sources",
        "prokaryotic",
        "bbcsport",
        "orl_4view",
        "leaves100",
        "mnist_usps_mv",
        "hdigit",
    ),
    rows=2000,
    conditions=("complete", *(f"missing {rate}" for rate in (0.1, 0.3, 0.5, 0.7, 0.9))),
)
