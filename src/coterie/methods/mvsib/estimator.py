"""`MVSIB`: what a person calls."""

# n rows, V views, d features of an embedding, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from coterie.data import Scaler, Views
from coterie.data.batches import SAMPLE_ROWS, Batches
from coterie.engine.device import resolve_device
from coterie.engine.loop import Loop
from coterie.methods.mvsib import fitting
from coterie.methods.mvsib.fitting import Parts
from coterie.methods.mvsib.options import MVSIBOptions
from coterie.methods.mvsib.training import MVSIBTask, embedded_rows
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, one_of, sizes, whole
from coterie.methods.trained import TRAINING_RULES, TrainedClusterer
from coterie.nn.forward import FORWARD_ROWS
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distances import exact_distances
from coterie.ops.memberships import calibrated_tau
from coterie.store import below

ROUTES = ("not routed", "false negative", "hard negative")
"""What the numbers of `route_` mean."""


class MVSIB(TrainedClusterer[Parts, MVSIBTask]):
    """Contrastive clustering of several views, with care for ambiguous rows and small clusters.

    An encoder for each view places rows on a sphere; their weighted mean is the consensus that is clustered. Rows
    that are neighbours in any view attract each other, rows of other clusters repel. Rows of which the views are
    unsure are told apart: neighbours that were put into another cluster by mistake are spared, and rows between two
    clusters are pushed to their own. Views may be missing, in `fit` and afterwards.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of ``"feature"``, ``"minmax"``, ``"sample"``, ``"none"``. ``"auto"`` takes the ones
        under which the views agree most on who is near whom.
    hidden : sequence of int, default=(256,)
        Widths of the encoders' hidden layers; the decoders mirror them.
    n_code : int, default=64
        Width d of the embeddings.
    n_neighbors : int, default=10
        Nearest neighbours that each view names, at least 1.
    max_epochs : int or "auto", default="auto"
        Passes over the data, the warm-up included. ``"auto"`` gives every data set enough gradient steps.
    batch_size : int, default=256
    learning_rate : float, default=1e-3
        Of Adam.
    options : MVSIBOptions, optional
        What the paper names; None is ``MVSIBOptions()``.
    checkpoint : path, optional
        File to write the state to, every ten epochs, and to go on from when it is there.
    device : str, default="auto"
        A torch device; ``"auto"`` is a GPU where there is one.
    verbose : int, default=0
        1 shows a progress bar on a terminal.
    random_state : int, RandomState or None, default=None
        Decides everything random.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_code)
        Means of the consensus.
    exemplar_indices_ : ndarray of shape (n_clusters,)
        The rows nearest to the centres.
    uncertainty_ : ndarray of shape (n,)
        How uncertain the network thinks each row is, from 0 to 1.
    route_ : ndarray of shape (n,)
        How each row was last routed: 0 never, 1 false negative, 2 hard negative.
    view_weights_ : ndarray of shape (V,)
        What the views count in the consensus.
    view_agreement_ : ndarray of shape (V, V)
        How much the views agree on who is near whom, at most 1.
    n_clusters_ : int
        How many clusters were looked for.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (n_clusters,)
    history_ : list of dict
        One record per epoch: losses, routes, and the measurements of the paper's theorems.
    scaler_ : Scaler
    network_ : MVSIBNetwork
    tau_ : float
        Sharpness of `predict_proba`: the mean confidence is the share of neighbours that are in one cluster.
    seed_ : int
        The number that decided everything random in this fit.
    n_iter_ : int
        Epochs done.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Of the packages that the result depends on.

    Notes
    -----
    The method is that of "A Multi-View Clustering Method for Handling Challenging Samples and Class Imbalance", as
    corrected by our specification (26 errata). Neighbours in any view as partners, the scalings and the start from
    the views' joined graph are ours; losses are means over views, not sums. The page on MVSIB in the documentation
    has the equations, the corrections and the measurements behind the defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import MVSIB
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], 40)
    >>> views = [np.eye(2)[kind] * 5 + rng.normal(size=(80, 2)), kind[:, None] * 4 + rng.normal(size=(80, 3))]
    >>> model = MVSIB(n_clusters=2, hidden=(32,), max_epochs=20, random_state=0).fit(views)
    >>> sorted(model.cluster_sizes_.tolist())
    [40, 40]
    """

    _takes_missing: ClassVar[bool] = True
    _options: ClassVar[type[Options]] = MVSIBOptions
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "hidden": sizes(),
        "n_code": whole(1),
        "n_neighbors": whole(1),
        "options": either(one_of(None), a_kind_of(MVSIBOptions, "MVSIBOptions")),
        **TRAINING_RULES,
    }
    _stream_options: ClassVar[Mapping[str, Any]] = {"curriculum": (0.0, 1.0), "hold": 0.0}

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        views: Any = None,
        scale: str = "auto",
        hidden: Sequence[int] = (256,),
        n_code: int = 64,
        n_neighbors: int = 10,
        max_epochs: int | str = "auto",
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        options: MVSIBOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.scale = scale
        self.hidden = hidden
        self.n_code = n_code
        self.n_neighbors = n_neighbors
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.options = options
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    # Fitting

    def _prepare(self, params: Mapping[str, Any], data: Views) -> Parts:
        return fitting.prepare(params, data, self.seed_, resolve_device(self.device))

    def _prepare_more(self, params: Mapping[str, Any], data: Views, seed: int) -> Parts:
        return fitting.prepare_more(
            params, data, self.network_, self.scaler_, self.view_agreement_, seed=seed
        )

    def _make_task(self, params: Mapping[str, Any], parts: Parts) -> MVSIBTask:
        return fitting.make_task(params, parts)

    def _follow(self, task: MVSIBTask, loop: Loop) -> None:
        task.started = True
        loop.run()

    def _conclude(self, parts: Parts, task: MVSIBTask) -> None:
        table = task.update()
        self.network_, self.view_agreement_ = parts.network, parts.agreement
        self.route_ = task.last_routes.numpy().astype(np.int64)
        labels, doubts, sample, exemplars = (
            ArrayBuilder(),
            ArrayBuilder(),
            ArrayBuilder(),
            NearestRows(self.n_clusters_),
        )
        device, step = parts.network.centers.device, math.ceil(parts.batches.views.n_rows / SAMPLE_ROWS)
        for consensus, costs in self._costs(table.consensus):
            labels.add(costs.argmin(1))
            with torch.no_grad():
                doubts.add(parts.network.predicted_doubt(consensus.to(device)))
            exemplars.add(costs)
            sample.add(costs[::step])
        self.labels_, self.uncertainty_ = labels.joined(), doubts.joined()
        self.exemplar_indices_ = exemplars.numbers
        self.tau_ = 1.0
        if parts.pairs is not None:
            self.tau_ = calibrated_tau(torch.from_numpy(sample.joined()), parts.pairs.agreement(self.labels_))
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self.network_.eval()
        self._n_features_out = self.n_code
        self.cluster_centers_ = self.network_.centers.cpu().numpy()
        self.view_weights_ = self.network_.view_weights.detach().cpu().numpy()

    # Using a fitted model

    def _over(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        idle = self.network_.idle.cpu().numpy()
        batches = Batches(fitting.counted(data, idle), self.scaler_, batch_size=self.batch_size, seed=0)
        for part in embedded_rows(self.network_, batches):
            yield from self._costs(part.consensus)

    def _costs(self, consensus: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield rows of the consensus and their squared distances to the centres."""
        centers = self.network_.centers.cpu()
        for rows in consensus.split(FORWARD_ROWS):
            yield rows, exact_distances(rows, centers)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "tau": self.tau_,
            "history": self.history_,
            "scale": list(self.scaler_.modes_),
        }
        arrays = module_arrays("network.", self.network_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        return values, arrays | {
            "labels": self.labels_,
            "exemplar_indices": self.exemplar_indices_,
            "uncertainty": self.uncertainty_,
            "route": self.route_,
            "agreement": self.view_agreement_,
        }

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.tau_, self.history_ = values["seed"], values["tau"], values["history"]
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        with unfilled():
            self.network_ = fitting.build_network(self._resolved(), self.view_dims_in_)
        load_arrays("network.", self.network_, arrays)
        self.network_.to(resolve_device(self.device))
        self.labels_, self.exemplar_indices_ = arrays["labels"], arrays["exemplar_indices"]
        self.uncertainty_, self.route_ = arrays["uncertainty"], arrays["route"]
        self.view_agreement_ = arrays["agreement"]
        self._describe()
