"""Options, presets and settings of PC-X."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from coterie.methods.options import Options, option
from coterie.methods.params import either, flag, one_of, real, whole
from coterie.methods.run_setup import MetricSettings


@dataclass(frozen=True, kw_only=True, repr=False)
class PCXOptions(Options):
    """What the paper names, and what we add to it, for ``PCX(options=PCXOptions(tau=2))``.

    Parameters
    ----------
    n_axes : int or None, default=256
        Most principal axes of the rows that ``encoder="mlp"`` sees; None shows it all columns.
    settle : bool, default=True
        Whether training ends once labels and the reconstruction error have settled. False trains `max_epochs` at a
        constant learning rate.
    reconstruction : {"mse", "bce"}, default="mse"
        The decoder's loss; ``"bce"`` for values from 0 to 1.
    reconstruction_weight : float, default=1.0
        Weight of that loss, which is relative to the variance of the rows.
    code_noise : float, default=0.5
        Noise on the decoder's input while training, in standard deviations of the code with `relative_weights`.
    straight_through : bool, default=False
        Whether the CI-Unit's second input passes its gradient on to the code, as in the authors' code.
    ci_unit : bool, default=True
        Whether the decoder sees the centroid with the code; False is the paper's ablation "no CI".
    neighbor_weight : float, default=0.0
        Weight of the neighbour contrast on the code, which draws codes of neighbours together. Wrong neighbours then
        pull against the corrected labels.
    init : {"graph", "kmeans", "xavier"}, default="graph"
        The initial partition: that of the rows' kNN graph; k-means on the rows as they are compared; or the paper's
        random centroids.
    self_training : float, default=1.0
        Length of self-training relative to its usual one: a classifier learns the initial labels with entropy
        minimisation, a size prior, neighbour agreement and virtual adversarial training, and corrects them. It is an
        MLP with the widths of `hidden`, whose hidden layers ``encoder="mlp"`` starts from, and needs neighbours and
        256 rows a cluster; 0 keeps the initial partition.
    hold : float, default=1.0
        Rows keep their initial label until it is that of the nearest centroid for this share of them; 1 keeps it
        throughout, 0 lets the nearest centroid decide from the start.
    centroid_weight : float, default=0.3
        Weight eta1 of the clustering loss.
    entropy_weight : float, default=0.1
        Weight eta2 of the minimum-entropy term, on once the nearest centroid decides and the burn-in is over.
    consistency_weight : float, default=1.0
        Weight of the cross-entropy of memberships with the label of the neighbour, or with the own initial label.
    relative_weights : bool, default=True
        Whether `centroid_weight` and `tau` are relative to the present mean distance, and `code_noise` to the spread
        of the code, instead of absolute.
    tau : float, default=1.0
        Sharpness of the memberships.
    burn_in : float, default=0.0
        Share of `max_epochs` in which the entropy term and the size weights are off.
    memory : float, default=0.995
        How much of a centroid stays in each step (kappa).
    centroid_update : {"fixed", "eq6", "sums"}, default="fixed"
        One memory for all centroids; that of Eq. 6, which is longer for smaller clusters; or moving averages of sums
        and counts apart, as in the authors' code.
    fixed_centroids : bool, default=False
        Whether centroids stay where they started; True is the paper's ablation "Fix".
    imbalance : bool, default=False
        Whether the clustering loss weighs rows by the inverse size of their cluster (PC-X-IMBA).
    smoothing : float, default=5.0
        Laplace smoothing of those sizes, in rows of a batch.

    Examples
    --------
    >>> PCXOptions(tau=2).set_params(hold=0)
    PCXOptions(hold=0, tau=2)
    """

    renamed: ClassVar[Mapping[str, str]] = {"student": "self_training"}
    gone: ClassVar[Mapping[str, str]] = {
        "warmup": "training starts with the clusters of the rows' kNN graph, and ends when nothing moves"
    }

    n_axes: int | None = option(256, either(one_of(None), whole(1)))
    settle: bool = option(True, flag())
    reconstruction: str = option("mse", one_of("mse", "bce"))
    reconstruction_weight: float = option(1.0, real(0))
    code_noise: float = option(0.5, real(0))
    straight_through: bool = option(False, flag())
    ci_unit: bool = option(True, flag())
    neighbor_weight: float = option(0.0, real(0))
    init: str = option("graph", one_of("graph", "kmeans", "xavier"))
    self_training: float = option(1.0, real(0))
    hold: float = option(1.0, real(0, 1))
    centroid_weight: float = option(0.3, real(0))
    entropy_weight: float = option(0.1, real(0))
    consistency_weight: float = option(1.0, real(0))
    relative_weights: bool = option(True, flag())
    tau: float = option(1.0, real(0, above=True))
    burn_in: float = option(0.0, real(0, 1))
    memory: float = option(0.995, real(0, 1))
    centroid_update: str = option("fixed", one_of("fixed", "eq6", "sums"))
    fixed_centroids: bool = option(False, flag())
    imbalance: bool = option(False, flag())
    smoothing: float = option(5.0, real(0, above=True))


_PAPER = PCXOptions(
    n_axes=None,
    settle=False,
    init="xavier",
    self_training=0.0,
    centroid_weight=5e-4,
    entropy_weight=1e-5,
    relative_weights=False,
    tau=5.0,
    burn_in=0.25,
    hold=0.0,
    memory=0.995,
    code_noise=0.0,
)
_PRINTED: Mapping[str, Any] = {
    "scale": "none",
    "metric": "euclidean",
    "hidden": (500, 500, 2000),
    "max_epochs": 1000,
    "batch_size": 256,
    "learning_rate": 5e-4,
    "n_neighbors": 0,
    "options": _PAPER,
}

PRESETS: Mapping[str | None, Mapping[str, Any]] = {
    None: {"hidden": (512, 256), "batch_size": 256, "learning_rate": 1e-3, "n_neighbors": 15},
    # Section 3.1, A.3.1 and A.7. The paper prints no eta1, no eta2 and no scaling of the rows: the weights are those
    # of its authors' code (spec 7), the rows are centred and of mean variance one.
    "paper": _PRINTED,
    # What the code that its authors released does otherwise (spec 7), on ImageNet-10.
    "authors": {
        **_PRINTED,
        "max_epochs": 701,
        "batch_size": 512,
        "options": _PAPER.set_params(
            burn_in=0.0, code_noise=0.5, straight_through=True, centroid_update="sums", smoothing=1e-5
        ),
    },
}


@dataclass(frozen=True)
class PCXSettings(MetricSettings):
    """Parameters of `PCX` in effect."""

    least_steps: ClassVar[int] = 600
    enough_epochs: ClassVar[int] = 10
    stream_options: ClassVar[Mapping[str, Any]] = {"settle": False, "burn_in": 0.0, "hold": 0.0}

    options: PCXOptions
    encoder: str | Sequence[nn.Module]
    hidden: Sequence[int]
    n_code: int
    image_shape: Sequence[int] | None

    @property
    def n_axes(self) -> int | None:
        """How many principal axes of the rows the encoder sees: None, all columns, where it is not an MLP of ours."""
        return self.options.n_axes if self.encoder == "mlp" else None
