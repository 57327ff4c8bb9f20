"""LargeMvC-Net: anchors, the noise term, layers and training."""

from benchmarks.paper_parts.parts import Paper, Part, Regime

PAPER = Paper(
    "largemvcnet",
    "LargeMvC-Net",
    regimes={"ours": Regime("the defaults", {})},
    parts=(
        Part("noise term", "Eq. 7", {"ours": ({}, {"noise": False})}),
        Part("learned anchors", "Eq. 9", {"ours": ({}, {"fixed_anchors": True})}),
        Part("unfolding", "Sec. 3", {"ours": ({}, {"n_layers": 1})}),
    ),
    sets=("prokaryotic", "msrc_v1", "3sources", "bbcsport", "orl_4view", "leaves100", "hdigit"),
    rows=2000,
)
