"""`MVSIB`: what a person calls."""

# n rows, V views, d features of an embedding, k clusters

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from coterie.data import Views
from coterie.data.batches import SAMPLE_ROWS, Batches
from coterie.engine.device import resolve_device
from coterie.graph.initial import view_agreement
from coterie.methods.deep import TRAINING_RULES, StreamClusterer
from coterie.methods.mvsib.compare import counted, draw_network, join_views, project_rows, scale_rows
from coterie.methods.mvsib.graph import pair_rows, partition_rows
from coterie.methods.mvsib.network import build_network, embed_batches
from coterie.methods.mvsib.options import PRESETS, MVSIBOptions, MVSIBSettings
from coterie.methods.mvsib.training import MVSIBTask, train
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, one_of, real, sizes, whole
from coterie.methods.run_setup import make_loop
from coterie.nn.forward import FORWARD_ROWS
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distances import exact_distances
from coterie.ops.memberships import calibrated_tau, log_memberships
from coterie.store import versions

ROUTES = ("not routed", "false negative", "hard negative")
"""What the numbers of `route_` mean."""


class MVSIB(StreamClusterer):
    """Contrastive clustering of several views, with care for ambiguous rows and small clusters.

    An encoder for each view places rows on a sphere; their weighted mean is the consensus that is clustered. Rows
    that are neighbours in any view attract each other, rows of other clusters repel. Uncertain rows are routed: false
    negatives, neighbours that are in another cluster by mistake, repel less, and hard rows between two clusters are
    pushed to their own. Views may be missing, in `fit` and afterwards.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    preset : {"paper"}, optional
        ``"paper"`` takes what the paper prints wherever a parameter is ``"auto"`` or an option was not given.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of ``"feature"``, ``"minmax"``, ``"sample"``, ``"none"``. ``"auto"`` takes the ones
        under which the views agree most on who is near whom.
    hidden : sequence of int or "auto", default="auto"
        Widths of the encoders' hidden layers; the decoders mirror them. ``"auto"`` is (256,).
    n_code : int or "auto", default="auto"
        Width d of the embeddings; ``"auto"`` is 64.
    n_neighbors : int or "auto", default="auto"
        Neighbours of each row in each view, at least 1; ``"auto"`` is 10.
    max_epochs : int or "auto", default="auto"
        Most passes over the data; training ends before when the clusters settle.
    batch_size : int, default=256
    learning_rate : float or "auto", default="auto"
        Of Adam; ``"auto"`` is 0.003.
    options : MVSIBOptions, optional
        What the paper names, and what we add to it; None is ``MVSIBOptions()``.
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
        From 0 to 1: one less the row's membership in its cluster, or the share of its neighbours that are in other
        clusters, whichever is larger.
    route_ : ndarray of shape (n,)
        The routes of the most uncertain rows: 0 not routed, 1 false negative, 2 hard negative.
    view_weights_ : ndarray of shape (V,)
        What the views count in the consensus.
    view_agreement_ : ndarray of shape (V, V)
        How much the views agree on who is near whom, at most 1.
    n_clusters_ : int
        How many clusters there are.
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
    corrected by our specification (26 errata). Neighbours in any view as positives, the scalings and the initial
    partition of the views' joined graph are ours; losses are means over views, not sums. The page on MVSIB in the
    documentation has the equations, the corrections and the measurements behind the defaults.

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
    _presets: ClassVar[Mapping[str | None, Mapping[str, Any]]] = PRESETS
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "preset": one_of(*PRESETS),
        "hidden": either(one_of("auto"), sizes()),
        "n_code": either(one_of("auto"), whole(1)),
        "n_neighbors": either(one_of("auto"), whole(1)),
        "options": either(one_of(None), a_kind_of(MVSIBOptions, "MVSIBOptions")),
        **TRAINING_RULES,
        "learning_rate": either(one_of("auto"), real(0, above=True)),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        preset: str | None = None,
        views: Any = None,
        scale: str = "auto",
        hidden: Sequence[int] | str = "auto",
        n_code: int | str = "auto",
        n_neighbors: int | str = "auto",
        max_epochs: int | str = "auto",
        batch_size: int = 256,
        learning_rate: float | str = "auto",
        options: MVSIBOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
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

    def _fit(self, data: Views) -> None:
        settings = MVSIBSettings.of(self._resolved())
        reference = join_views(data, settings, self.seed_)
        scaler, idle = reference.comparison.scaler, reference.comparison.idle
        batches = scale_rows(data, scaler, idle, settings.batch_size, self.seed_)
        network = draw_network(settings, batches, idle).to(resolve_device(self.device))
        rows = project_rows(batches, network)
        joined = pair_rows(data, reference, rows.batches, settings.options.n_partners)
        initial = None
        if settings.options.init == "graph":
            initial = partition_rows(reference, joined, data.n_rows, settings.n_clusters, seed=self.seed_)
        task = MVSIBTask(network, settings, rows, joined=joined)
        self.history_ = train(task, initial, self._watchers(rows.fingerprint()))
        self.scaler_, self.tau_ = scaler, 1.0
        self.view_agreement_ = view_agreement(reference.comparison, reference.joined)
        self._label(task)
        self._describe()

    def _fit_more(self, data: Views) -> None:
        settings, seed = MVSIBSettings.of(self._resolved()).for_stream(), self.seed_ + len(self.history_)
        idle = self.network_.idle.cpu().numpy()
        batches = scale_rows(data, self.scaler_, idle, settings.batch_size, seed)
        task = MVSIBTask(self.network_, settings, project_rows(batches, self.network_))
        loop = make_loop(task)
        loop.run()
        self._continue_history(loop.history)
        self._label(task)
        self._describe()

    def _label(self, task: MVSIBTask) -> None:
        """Keep the network; set the labels, uncertainties and routes of all rows in one pass."""
        embeddings = task.embeddings()
        self.network_ = task.network
        labels, sample, own = ArrayBuilder(), ArrayBuilder(), ArrayBuilder()
        exemplars = NearestRows(self.n_clusters_)
        step = math.ceil(len(embeddings.consensus) / SAMPLE_ROWS)
        for _, distances in self._distances(embeddings.consensus):
            labels.add(distances.argmin(1))
            exemplars.add(distances)
            sample.add(distances[::step])
        self.labels_, self.exemplar_indices_ = labels.joined(), exemplars.numbers
        if task.joined is not None:
            agreement = task.joined.agreement(self.labels_)
            self.tau_ = calibrated_tau(torch.from_numpy(sample.joined()), agreement)
        for _, distances in self._distances(embeddings.consensus):
            own.add(log_memberships(distances, self.tau_).exp().amax(1))
        judged = task.judge(torch.from_numpy(self.labels_), torch.from_numpy(own.joined()))
        self.uncertainty_, self.route_ = (values.numpy() for values in judged)
        self.versions_ = versions()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self.network_.eval()
        self._n_features_out = self.network_.centers.shape[1]
        self.cluster_centers_ = self.network_.centers.cpu().numpy()
        self.view_weights_ = self.network_.view_weights.detach().cpu().numpy()

    # Using a fitted model

    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        views = counted(data, self.network_.idle.cpu().numpy())
        batches = Batches(views, self.scaler_, batch_size=self.batch_size, seed=0)
        for part in embed_batches(self.network_, batches):
            yield from self._distances(part.consensus)

    def _distances(self, consensus: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield rows of the consensus and their squared distances to the centres."""
        centers = self.network_.centers.cpu()
        for rows in consensus.split(FORWARD_ROWS):
            yield rows, exact_distances(rows, centers)

    # Saving

    _saved: ClassVar[tuple[str, ...]] = ("labels_", "exemplar_indices_", "uncertainty_", "route_")

    def _named_modules(self) -> dict[str, nn.Module]:
        return {"network": self.network_}

    def _build_modules(self, values: Mapping[str, Any]) -> None:
        self.network_ = build_network(MVSIBSettings.of(self._resolved()), self.view_dims_in_)

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values, arrays = super()._pack()
        return values, arrays | {"agreement": self.view_agreement_}

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._unpack(values, arrays)
        self.view_agreement_ = arrays["agreement"]
