"""MVSIB: its Figs. 6 to 10 and 14, Table 6, and what it claims to bear: uneven classes, noisy and missing views."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.paper_parts.parts import Paper, Part, Regime

SHORT: dict[str, Any] = {
    "preset": "paper",
    "hidden": [128],
    "n_code": 64,
    "n_axes": 64,
    "max_epochs": 60,
    "learning_rate": 1e-3,
}
"""The printed recipe, narrow and with a fifth of the epochs at ten times the rate: the whole takes CPU hours."""

CORRECTED = {"equations": "corrected", "router": "rule", "false_mode": "denominator"}
ALIKE = ("paper", "free")
"""The printed recipe from its own start, and from the partition of the graph, whose labels rows may leave."""


def _without(**change: Any) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    return dict.fromkeys(ALIKE, ({}, change))


def _swept(name: str, option: str, values: Sequence[Any]) -> Iterator[Part]:
    """Yield a part for each value of a parameter of Fig. 6 that is not the preset's."""
    for value in values:
        yield Part(f"{name} = {value}", "Fig. 6", {"sweeps": ({option: value}, {})})


PAPER = Paper(
    "mvsib",
    "MVSIB",
    regimes={
        "printed": Regime("as printed", {"preset": "paper"}),
        "paper": Regime("as printed, one layer of 128, 60 epochs", SHORT),
        "corrected": Regime("that with our corrections", {**SHORT, **CORRECTED}),
        "free": Regime("as printed, from the graph", {**SHORT, "init": "graph"}),
        "sweeps": Regime("as printed, one layer of 128, 60 epochs", SHORT),
        "ours": Regime("the defaults", {}),
        "graph": Regime("the graph alone", {}, "graphclustering"),
    },
    parts=(
        Part("sample certainty (SCE)", "Eqs. 5 to 14", _without(doubt_weight=0, uncertain=1.0)),
        Part("disambiguation (CSD)", "Eqs. 15 to 29", _without(hard_weight=0, false_mask=1.0)),
        Part("push and pull", "Eqs. 26 to 29", _without(hard_weight=0)),
        Part("trained router", "Eqs. 19 to 21", _without(router="rule")),
        Part("small clusters (ISM)", "Eqs. 30 to 38", _without(minority_weight=0)),
        Part("sample contrast (SCL)", "Eq. 44", _without(row_weight=0)),
        Part("cluster contrast", "Eqs. 39 to 43", _without(cluster_weight=0)),
        Part("cross-view contrast (CCL)", "Eq. 50", _without(cross_weight=0)),
        Part("curriculum", "Sec. 3.7", _without(curriculum=None)),
        Part("ten neighbours, not three", "Sec. 4.4", _without(n_neighbors=3)),
        Part("pre-training", "Eq. 2", {"paper": ({}, {"warmup": 0, "max_epochs": 20})}),
        *_swept("E_w, E_c", "curriculum", [[0.1, share] for share in (0.1, 0.3, 0.4, 0.5)]),
        *_swept("lambda_u", "doubt_weight", (0.3, 0.5, 0.7, 0.9)),
        *_swept("p_0", "uncertain", (0.1, 0.2, 0.4, 0.5)),
        *_swept("alpha_sce", "doubt_balance", (0.1, 0.3, 0.7, 0.9)),
    ),
    sets=("msrc_v1", "3sources", "prokaryotic", "bbcsport", "orl_4view", "leaves100", "cora", "hdigit"),
    rows=2000,
    conditions=("complete", "uneven", "noisy", "missing"),
)
