"""Options and settings of SSCNet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from coterie.methods.options import Options, option
from coterie.methods.params import flag, one_of, real, sizes, whole
from coterie.methods.run_setup import MetricSettings
from coterie.methods.sscnet.coding import ERRORS


@dataclass(frozen=True, kw_only=True, repr=False)
class SSCNetOptions(Options):
    """What the paper names, and what we add to it, for ``SSCNet(options=SSCNetOptions(joint=False))``.

    Parameters
    ----------
    init : {"graph", "landmarks"}, default="graph"
        The initial clusters: those of the rows' kNN graph, which rows keep; or those of the landmarks' graph alone,
        which move as the codes are trained.
    self_training : float, default=0.0
        Length of self-training relative to its usual one: a classifier learns the initial labels and corrects them.
        It needs neighbours and 256 rows a cluster; 0 keeps the initial partition.
    settle : bool, default=True
        Whether training ends once labels and losses have settled. False trains `max_epochs` at a constant rate.
    turns : bool, default=False
        Whether the three losses take turns as in Algorithm 1; otherwise every step has all of them.
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
    neighbor_weight : float, default=0.0
        Weight of the contrast that draws neighbours together.
    spectral_weight : float, default=0.0
        Weight c1 of the spectral loss of the batch's own graph (Algorithm 1), as dear as all others together.
    assignment_weight : float, default=1.0
        Weight c2 of the assignment loss (Algorithm 1).
    joint : bool, default=True
        Whether the spectral and the assignment loss train the blocks too.
    n_code : int, default=32
        Width p of the embedding in which neighbours are drawn together, and of `transform`.
    graph_on : {"embedding", "code"}, default="embedding"
        Features of the landmarks' graph: the embedding, or the sparse codes themselves as in the paper and wherever
        the graph of the landmarks gives the initial clusters.
    graph_neighbors : int, default=15
        Neighbours of a landmark in the graph, and landmarks that vote on another row.
    n_layers : int, default=20
        Eigen-layers of a refresh.
    """

    gone: ClassVar[Mapping[str, str]] = {
        "warmup": "training starts with the clusters of the rows' kNN graph, and ends when nothing moves",
        "refresh_every": "the landmarks' graph is embedded again every hundred steps",
    }

    init: str = option("graph", one_of("graph", "landmarks"))
    self_training: float = option(0.0, real(0))
    settle: bool = option(True, flag())
    turns: bool = option(False, flag())
    hidden: Sequence[int] = option((512,), sizes())
    share_blocks: bool = option(False, flag())
    error: str = option("column", one_of(*ERRORS))
    sparsity: float = option(0.1, real(0))
    coding_weight: float = option(1.0, real(0))
    neighbor_weight: float = option(0.0, real(0))
    spectral_weight: float = option(0.0, real(0))
    assignment_weight: float = option(1.0, real(0))
    joint: bool = option(True, flag())
    n_code: int = option(32, whole(1))
    graph_on: str = option("embedding", one_of("embedding", "code"))
    graph_neighbors: int = option(15, whole(1))
    n_layers: int = option(20, whole(0))


@dataclass(frozen=True)
class SSCNetSettings(MetricSettings):
    """Parameters of `SSCNet` in effect."""

    least_steps: ClassVar[int] = 600
    enough_epochs: ClassVar[int] = 10
    stream_options: ClassVar[Mapping[str, Any]] = {"settle": False}

    options: SSCNetOptions
    dictionary: str
    n_atoms: int
    image_shape: Sequence[int] | None
    n_blocks: int
    n_landmarks: int
