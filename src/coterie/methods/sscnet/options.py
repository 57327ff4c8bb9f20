"""Options and settings of SSCNet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.methods.options import TrainingOptions, option
from coterie.methods.params import flag, one_of, real, sizes, whole
from coterie.methods.run_setup import MetricSettings
from coterie.methods.sscnet.coding import ERRORS


@dataclass(frozen=True, kw_only=True, repr=False)
class SSCNetOptions(TrainingOptions):
    """What the paper names, and what we add to it, for ``SSCNet(options=SSCNetOptions(joint=False))``.

    Parameters
    ----------
    warmup : float, default=0.8
        Share of the epochs that train the codes before there are clusters. Without a warm-up the learning rate is
        constant.
    hidden : sequence of int, default=(512,)
        Widths of the hidden layers of ``dictionary="mlp"``.
    share_blocks : bool, default=False
        Whether all blocks have the same parameters, as the steps of one solver do.
    error : {"column", "element"}, default="column"
        Whether whole rows or single entries are judged corrupt.
    sparsity : float, default=0.1
        Weight lambda of the codes' l1 norm relative to the length of the residual; at 1 codes vanish.
    coding_weight : float, default=1.0
        Weight of the coding loss.
    neighbor_weight : float, default=1.0
        Weight of the contrast that draws neighbours together.
    spectral_weight : float, default=0.15
        Weight c1 of the spectral loss (Algorithm 1).
    assignment_weight : float, default=1.0
        Weight c2 of the assignment loss (Algorithm 1).
    joint : bool, default=True
        Whether the spectral and the assignment loss train the blocks too.
    n_code : int, default=10
        Width p of the embedding in which neighbours are drawn together, and of `transform`.
    graph_on : {"auto", "embedding", "code"}, default="auto"
        Features of the landmarks' graph: the embedding, or the sparse codes themselves as in the paper. ``"auto"``
        takes the one whose spectral embedding agrees best with the initial partition.
    graph_neighbors : int, default=15
        Neighbours of a landmark in the graph, and landmarks that vote on another row.
    n_layers : int, default=20
        Eigen-layers of a refresh.
    refresh_every : int, default=2
        Epochs between two refreshes of the landmarks.
    """

    hidden: Sequence[int] = option((512,), sizes())
    share_blocks: bool = option(False, flag())
    error: str = option("column", one_of(*ERRORS))
    sparsity: float = option(0.1, real(0))
    coding_weight: float = option(1.0, real(0))
    neighbor_weight: float = option(1.0, real(0))
    spectral_weight: float = option(0.15, real(0))
    assignment_weight: float = option(1.0, real(0))
    joint: bool = option(True, flag())
    n_code: int = option(10, whole(1))
    graph_on: str = option("auto", one_of("auto", "embedding", "code"))
    graph_neighbors: int = option(15, whole(1))
    n_layers: int = option(20, whole(0))
    refresh_every: int = option(2, whole(1))


@dataclass(frozen=True)
class SSCNetSettings(MetricSettings):
    """Parameters of `SSCNet` in effect."""

    options: SSCNetOptions
    dictionary: str
    n_atoms: int
    image_shape: Sequence[int] | None
    n_blocks: int
    n_landmarks: int
