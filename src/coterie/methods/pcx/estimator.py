"""`PCX`: what a person calls."""

# n rows, D features, d code features, k clusters

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from coterie.collectives import share_of
from coterie.data import Views
from coterie.data.batches import Batches
from coterie.engine.device import resolve_device
from coterie.graph.metric import KINDS, MetricChoice
from coterie.methods.deep import TRAINING_RULES, StreamClusterer
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, one_of, real, sizes, whole
from coterie.methods.pcx.network import PCXNetwork, build_network, draw_network, encode_batches, encode_rows
from coterie.methods.pcx.options import PRESETS, PCXOptions, PCXSettings
from coterie.methods.pcx.training import PCXTask, train
from coterie.methods.run_setup import ComparedRows, compare_rows
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distributed_rows import gathered
from coterie.ops.memberships import calibrated_tau
from coterie.store import versions


class PCX(StreamClusterer):
    """Deep clustering with slow exemplars (PC-X).

    The partition of the rows' kNN graph, corrected by self-training, gives the initial clusters. Then an auto-encoder
    and its centroids are trained together until nothing moves: the decoder takes each code with its centroid, codes
    are drawn towards their centroids, and these follow slowly as moving averages, so that each becomes an exemplar
    that can be decoded.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    preset : {"paper", "authors"}, optional
        ``"paper"`` takes what the paper prints, and ``"authors"`` what its authors' code does, wherever a parameter
        is ``"auto"`` or an option was not given. Both are there for comparison.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. PCX concatenates views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of the modes of `coterie.data.Scaler`. ``"auto"`` takes the one of ``"none"``,
        ``"feature"``, ``"minmax"`` and ``"log"`` under which halves of the columns agree most on who is near whom.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        How rows are compared, by the encoder and in the search for neighbours. ``"auto"`` takes the one whose
        neighbours agree most, without any label.
    encoder : {"mlp", "conv"} or pair of torch modules, default="mlp"
        ``"conv"`` needs `image_shape`. A pair is an encoder, which maps (b, D) rows to (b, n_code) codes, and its
        decoder; both are copied, and their weights are where training starts.
    hidden : sequence of int or "auto", default="auto"
        Widths of the encoder's hidden layers; the decoder mirrors them. ``"auto"`` is 512 and 256, and 500, 500 and
        2,000 with a preset.
    n_code : int, default=10
        Width of the code.
    image_shape : (height, width) or (channels, height, width), optional
        What the columns of a row are, for ``encoder="conv"`` and for reports.
    n_neighbors : int or "auto", default="auto"
        Nearest neighbours from which positives are drawn; 0 turns off everything that needs neighbours. ``"auto"`` is
        15, and 0 with a preset.
    max_epochs : int or "auto", default="auto"
        Most passes over the data: training ends when labels and the reconstruction error have settled. ``"auto"`` is
        10, or as many as make 600 gradient steps; 1,000
        with the paper's preset.
    batch_size : int or "auto", default="auto"
        ``"auto"`` is 256, and 512 with the authors' preset.
    learning_rate : float or "auto", default="auto"
        Of Adam; ``"auto"`` is 0.001, and 0.0005 with a preset.
    options : PCXOptions, optional
        What the paper names, and what we add to it; None is ``PCXOptions()``.
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
    exemplars_ : ndarray of shape (n_clusters, D), or a list of them, one per view
        The centroids decoded in input space.
    exemplar_indices_ : ndarray of shape (n_clusters,)
        The rows whose codes are nearest to the centroids.
    cluster_centers_ : ndarray of shape (n_clusters, n_code)
        The centroids, in the space of the code.
    n_clusters_ : int
        How many clusters there are.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (n_clusters,)
    inertia_ : float
        Sum of the squared distances of the codes to their centroids.
    history_ : list of dict
        One record per epoch.
    metric_ : MetricChoice
        How rows are compared, and the agreement of what else was tried.
    scaler_ : Scaler
    network_ : PCXNetwork
    tau_ : float
        Sharpness of `predict_proba`. Where neighbours were searched it is set so that the mean confidence is the
        share of neighbours that are in one cluster: a figure the data support, not one that training sharpened.
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
    The method is that of "PC-X: Profound Clustering via Slow Exemplars"; the neighbour contrast, the choice of
    the metric, the initial partition, self-training and the consistency term are ours. The page on PCX in the
    documentation has the equations, the corrections and the measurements behind the defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import PCX
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0] * 8, [5.0] * 8], 40, axis=0) + rng.normal(size=(80, 8))
    >>> model = PCX(n_clusters=2, hidden=(32,), max_epochs=20, random_state=0).fit(X)
    >>> sorted(model.cluster_sizes_.tolist())
    [40, 40]
    >>> model.predict(X[:1]) == model.labels_[:1]
    array([ True])
    """

    _options: ClassVar[type[Options]] = PCXOptions
    _presets: ClassVar[Mapping[str | None, Mapping[str, Any]]] = PRESETS
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "preset": one_of(*PRESETS),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "encoder": either(one_of("mlp", "conv"), a_kind_of((tuple, list), "a pair of torch modules")),
        "hidden": either(one_of("auto"), sizes()),
        "n_code": whole(1),
        "image_shape": either(one_of(None), sizes("two or three positive whole numbers")),
        "n_neighbors": either(one_of("auto"), whole(0)),
        "options": either(one_of(None), a_kind_of(PCXOptions, "PCXOptions")),
        **TRAINING_RULES,
        "batch_size": either(one_of("auto"), whole(2)),
        "learning_rate": either(one_of("auto"), real(0, above=True)),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        preset: str | None = None,
        views: Any = None,
        scale: str = "auto",
        metric: str = "auto",
        encoder: str | Sequence[nn.Module] = "mlp",
        hidden: Sequence[int] | str = "auto",
        n_code: int = 10,
        image_shape: Sequence[int] | None = None,
        n_neighbors: int | str = "auto",
        max_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        learning_rate: float | str = "auto",
        options: PCXOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.views = views
        self.scale = scale
        self.metric = metric
        self.encoder = encoder
        self.hidden = hidden
        self.n_code = n_code
        self.image_shape = image_shape
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
        settings = PCXSettings.of(self._resolved())
        rows = compare_rows(data, settings, self.seed_)
        network = draw_network(settings, rows).to(resolve_device(self.device))
        axes = rows.axes(network.projection.space)
        graph = rows.search_neighbours(axes, settings.n_neighbors)
        initial = rows.partition(axes, settings.n_clusters) if settings.options.init == "graph" else None
        task = PCXTask(network, settings, rows.batches, graph=graph, seed=self.seed_)
        self.history_ = train(task, initial, self._watchers(rows.fingerprint()))
        self._label(task, rows)
        self._describe()

    def _fit_more(self, data: Views) -> None:
        settings, seed = PCXSettings.of(self._resolved()).for_stream(), self.seed_ + len(self.history_)
        rows = compare_rows(data, settings, seed, scaler=self.scaler_, metric=self.metric_)
        graph = rows.search_neighbours(rows.axes(self.network_.projection.space), settings.n_neighbors)
        task = PCXTask(self.network_, settings, rows.batches, graph=graph, seed=seed)
        task.started = True
        self._continue_history(train(task, None))
        self._label(task, rows)
        self._describe()

    def _label(self, task: PCXTask, rows: ComparedRows) -> None:
        """Keep the network, and set the labels, the exemplars and the sharpness of memberships."""
        self.network_, self.metric_, self.scaler_ = task.network, rows.metric, rows.batches.scaler
        self.labels_, self.inertia_, self.exemplar_indices_ = label_rows(task.network, rows.batches)
        self.tau_ = membership_tau(task, rows.sample, self.labels_)
        self.versions_ = versions()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self.network_.eval()
        self._n_features_out = self.network_.centroids.shape[1]
        with torch.no_grad():
            decoded = self.network_.exemplars().cpu().numpy()
        views = np.split(decoded, np.cumsum(self.view_dims_in_)[:-1], axis=1)
        exemplars = self.scaler_.inverse_transform(views)
        self.exemplars_ = exemplars[0] if len(exemplars) == 1 else exemplars
        self.cluster_centers_ = self.network_.centroids.cpu().numpy()

    # Using a fitted model

    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        batches = Batches(data, self.scaler_, batch_size=self._resolved()["batch_size"], seed=0)
        yield from encode_batches(self.network_, batches)

    # Saving

    def _named_modules(self) -> dict[str, nn.Module]:
        return {"network": self.network_}

    def _build_modules(self, values: Mapping[str, Any]) -> None:
        settings, self.metric_ = PCXSettings.of(self._resolved()), MetricChoice.from_values(values["metric"])
        n_axes = values.get("n_axes")  # files of before have none: their encoders see all columns
        self.network_ = build_network(settings, self.metric_.kind, self.n_features_in_, n_axes)

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values, arrays = super()._pack()
        own = {"inertia": self.inertia_, "metric": self.metric_.as_values()}
        return values | own | {"n_axes": self.network_.projection.n_seen}, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        no_axes = np.zeros((0, self.n_features_in_), dtype=np.float32), np.ones((), dtype=np.float32)
        before = dict(zip(("network.projection.axes", "network.projection.spread"), no_axes, strict=True))
        super()._unpack(values, before | arrays)
        self.inertia_ = values["inertia"]


def label_rows(network: PCXNetwork, batches: Batches) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the labels (n,), the inertia, and the rows nearest to the centroids (k,), in one pass."""
    n_rows, collectives = batches.views.n_rows, batches.collectives
    labels, inertia = ArrayBuilder(), 0.0
    exemplars = NearestRows(len(network.centroids), share_of(n_rows, collectives).start)
    for _, distances in encode_batches(network, batches):
        nearest = distances.min(1)
        labels.add(nearest.indices)
        inertia += float(nearest.values.double().sum())
        exemplars.add(distances)
    labels_of_all = gathered(labels.joined(), n_rows, collectives)
    return labels_of_all, collectives.sum(inertia), exemplars.over(collectives)


def membership_tau(task: PCXTask, sample: Tensor, labels: np.ndarray) -> float:
    """Return the tau of `predict_proba`, calibrated so that the mean confidence is the agreement of neighbours.

    Training pulls codes so close to their centroids that the tau of the loss would make every row certain. The share
    of neighbours in one cluster can be checked without labels.
    """
    options = task.options
    distances = encode_rows(task.network, sample.to(task.device))[1]
    if task.graph is not None and options.relative_weights:
        return calibrated_tau(distances, task.graph.agreement(labels))
    mean_distance = float(distances.amin(1).mean())
    return options.tau / mean_distance if options.relative_weights and mean_distance > 0 else options.tau
