"""Options of LargeMvC-Net."""

from __future__ import annotations

from dataclasses import dataclass

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
    init : {"graph", "kmeans"}, default="graph"
        The initial partition: that of the multi-view graph, or the paper's k-means on the concatenated views. Both
        use at most 10,000 rows.
    sparsity : float, default=0.05
        Threshold alpha of the code, as a share of the mean largest entry.
    noise_quantile : float, default=0.9
        Share of the rows of a view that the initial noise threshold leaves at full weight.
    fixed_anchors : bool, default=False
        Whether the anchors keep their initial values; with ``noise=False`` the paper's RMvC-Net.
    per_view_threshold : bool, default=False
        Whether each view is thresholded before the average, as printed. It can raise the objective.
    loss : {"objective", "recon"}, default="objective"
        The training loss: the objective with its noise and sparsity terms, or the paper's Eq. 14.
    learning_rate : float, default=0.01
        Learning rate of Adam.
    """

    features: str = option("landmarks", one_of("landmarks", "columns"))
    n_landmarks: int | str = option("auto", either(one_of("auto"), whole(1)))
    init: str = option("graph", one_of("graph", "kmeans"))
    sparsity: float = option(0.05, real(0))
    noise_quantile: float = option(0.9, real(0, 1))
    fixed_anchors: bool = option(False, flag())
    per_view_threshold: bool = option(False, flag())
    loss: str = option("objective", one_of("objective", "recon"))
    learning_rate: float = option(0.01, real(0, above=True))
