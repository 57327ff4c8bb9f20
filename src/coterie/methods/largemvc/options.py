"""Options of LargeMvC-Net."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.methods.largemvc.training import LOSSES
from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole


@dataclass(frozen=True, kw_only=True, repr=False)
class LargeMvCNetOptions(Options):
    """What the paper names, and what we add to it, for ``LargeMvCNet(options=LargeMvCNetOptions(sparsity=0))``.

    Parameters
    ----------
    features : {"landmarks", "columns"}, default="landmarks"
        What the layers see of a view: how near a row is to the view's landmarks, or the scaled columns, as in the
        paper.
    n_landmarks : int or "auto", default="auto"
        Landmarks of a view; ten a cluster and 1,000 at least by default.
    init : {"graph", "kmeans"}, default="graph"
        The initial partition: that of the multi-view graph, or the paper's k-means on the concatenated views. Both
        look at 10,000 rows at most.
    sparsity : float, default=0.05
        Threshold alpha of the code, as a share of the mean largest entry.
    noise_quantile : float, default=0.9
        Share of the rows of a view that are taken as they are when the noise threshold is set.
    fixed_anchors : bool, default=False
        Whether the anchors stay where they started; with ``noise=False`` the paper's RMvC-Net.
    per_view_threshold : bool, default=False
        Whether each view is thresholded before the average, as printed. It can raise the objective.
    loss : {"objective", "recon"}, default="objective"
        What training minimises: the objective with its noise and sparsity terms, or the paper's Eq. 14.
    learning_rate : float, default=0.01
        Of Adam.
    """

    features: str = option("landmarks", one_of("landmarks", "columns"))
    n_landmarks: int | str = option("auto", either(one_of("auto"), whole(1)))
    init: str = option("graph", one_of("graph", "kmeans"))
    sparsity: float = option(0.05, real(0))
    noise_quantile: float = option(0.9, real(0, 1))
    fixed_anchors: bool = option(False, flag())
    per_view_threshold: bool = option(False, flag())
    loss: str = option("objective", one_of(*LOSSES))
    learning_rate: float = option(0.01, real(0, above=True))
