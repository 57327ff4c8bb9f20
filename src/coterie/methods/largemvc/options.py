"""Options of LargeMvC-Net."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole


@dataclass(frozen=True, kw_only=True, repr=False)
class LargeMvCNetOptions(Options):
    """Parameters of the paper and of our additions, for ``LargeMvCNet(options=LargeMvCNetOptions(sparsity=0))``.

    Parameters
    ----------
    features : {"landmarks", "columns"}, default="landmarks"
        The input of the layers: the weights of a row on the nearest landmarks of a view, or its scaled columns, as in
        the paper.
    n_landmarks : int or "auto", default="auto"
        Landmarks per view; by default ten per cluster and at least 1,000.
    balanced : bool, default=True
        Whether columns are divided by one number a view, so that all views weigh the same.
    outliers : bool, default=True
        Whether rows of a view that are far from all others are ignored there from the start, where `noise` is on.
    init : {"graph", "kmeans"}, default="graph"
        The initial partition: that of the multi-view graph, or the paper's k-means on the concatenated views. Both
        use at most 10,000 rows.
    sparsity : float, default=0.05
        Threshold alpha of the code, as a share of the mean largest entry.
    noise_quantile : float, default=0.9
        Share of the rows of a view that the initial noise threshold leaves at full weight.
    fixed_anchors : bool, default=False
        Whether the anchors keep their initial values; with ``noise=False`` the paper's RMvC-Net.
    renewed_anchors : bool, default=False
        Whether each training step computes the anchors of all layers anew from its batch, as Algorithm 1 does with
        all rows, instead of once an epoch.
    per_view_threshold : bool, default=False
        Whether each view is thresholded before the average, as printed. It can raise the objective.
    threshold : {"non-negative", "relu", "selu"}, default="non-negative"
        The threshold of the code: relu(a - theta), or the paper's two-sided one with one of its activations, which
        gives negative codes.
    trained_thresholds : bool, default=True
        Whether training moves the thresholds. In the released code it does on a CPU, and does not on a GPU.
    random_layers : bool, default=False
        Whether R and U start at random, as in the released code, instead of at 0 and the identity.
    loss : {"objective", "recon"}, default="objective"
        The training loss: the objective with its noise and sparsity terms, or the paper's Eq. 14.
    learning_rate : float, default=0.01
        Learning rate of Adam.
    unit_codes : bool, default=True
        Whether the centres are those of codes of unit norm, found from the initial partition; False is the paper's
        k-means of the codes as they are, the best of ten starts.
    """

    features: str = option("landmarks", one_of("landmarks", "columns"))
    n_landmarks: int | str = option("auto", either(one_of("auto"), whole(1)))
    balanced: bool = option(True, flag())
    outliers: bool = option(True, flag())
    init: str = option("graph", one_of("graph", "kmeans"))
    sparsity: float = option(0.05, real(0))
    noise_quantile: float = option(0.9, real(0, 1))
    fixed_anchors: bool = option(False, flag())
    renewed_anchors: bool = option(False, flag())
    per_view_threshold: bool = option(False, flag())
    threshold: str = option("non-negative", one_of("non-negative", "relu", "selu"))
    trained_thresholds: bool = option(True, flag())
    random_layers: bool = option(False, flag())
    loss: str = option("objective", one_of("objective", "recon"))
    learning_rate: float = option(0.01, real(0, above=True))
    unit_codes: bool = option(True, flag())


# What the paper prints (Eqs. 11 to 14, Algorithm 1, 4.1.2). It gives neither a scaling nor the first thresholds: the
# scaling is that of the released code (spec 2.6), whose threshold of the code, 0.01, is here a share of its entries.
_PAPER = LargeMvCNetOptions(
    features="columns",
    balanced=False,
    outliers=False,
    init="kmeans",
    sparsity=0.01,
    renewed_anchors=True,
    per_view_threshold=True,
    threshold="relu",
    loss="recon",
    learning_rate=0.01,
    unit_codes=False,
)

PRESETS: Mapping[str | None, Mapping[str, Any]] = {
    None: {"max_epochs": 0, "batch_size": 1024},
    "paper": {"scale": "sample", "max_epochs": 100, "batch_size": "all", "options": _PAPER},
    # The released code as it runs on a GPU: SELU, the threshold of the average, layers that start at random, another
    # rate, and thresholds that no step moves (spec 2.7, 3.3, 3.11).
    "authors": {
        "scale": "sample",
        "max_epochs": 100,
        "batch_size": "all",
        "options": _PAPER.set_params(
            per_view_threshold=False,
            threshold="selu",
            trained_thresholds=False,
            random_layers=True,
            learning_rate=0.05,
        ),
    },
}
