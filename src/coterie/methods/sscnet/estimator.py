"""`SSCNet`: what a person calls."""

# n rows, D features, m atoms, p features of the embedding, k clusters

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from coterie.collectives import share_of
from coterie.data import Views
from coterie.data.batches import Batches
from coterie.engine.device import resolve_device
from coterie.errors import InputError
from coterie.graph.metric import KINDS, MetricChoice
from coterie.methods.deep import TRAINING_RULES, StreamClusterer
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, one_of, sizes, whole
from coterie.methods.run_setup import ComparedRows, compare_rows
from coterie.methods.sscnet import dictionaries
from coterie.methods.sscnet.network import (
    Modules,
    Predictions,
    build_modules,
    draw_modules,
    predict_batches,
    predict_rows,
)
from coterie.methods.sscnet.options import SSCNetOptions, SSCNetSettings
from coterie.methods.sscnet.training import SSCNetTask, train
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.cluster_statistics import NearestRows
from coterie.ops.distances import squared_distances
from coterie.ops.distributed_rows import gathered
from coterie.ops.memberships import calibrated_tau
from coterie.store import versions


class SSCNet(StreamClusterer):
    """Subspace clustering by learned sparse codes, a spectral embedding of landmarks, and a classifier.

    The partition of the rows' kNN graph gives the initial clusters. Then blocks of unrolled linearised ADMM learn to
    code each row by a few atoms of a dictionary. A graph of landmarks has a spectral embedding, by descent over
    orthonormal columns, and a small network learns the place in it and the cluster of any row, so that a new row
    needs one forward pass and no graph. All are trained together until nothing moves.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. SSCNet concatenates views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of the modes of `coterie.data.Scaler`. ``"auto"`` takes the one of ``"none"``,
        ``"feature"``, ``"minmax"`` and ``"log"`` under which halves of the columns agree most on who is near whom.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        How rows are compared and what is coded. ``"auto"`` takes the one whose neighbours agree most.
    dictionary : {"linear", "mlp", "conv"}, default="linear"
        The map from codes to rows and its adjoint. ``"conv"`` needs `image_shape`.
    n_atoms : int, default=256
        Width of the code; a convolutional dictionary has as many as its maps have pixels.
    image_shape : (height, width) or (channels, height, width), optional
        What the columns of a row are, for ``dictionary="conv"`` and for reports.
    n_blocks : int, default=2
        Unrolled steps of ADMM; 0 is a plain auto-encoder.
    n_landmarks : int, default=1500
        Rows whose graph is cut; at most all rows.
    n_neighbors : int, default=15
        Nearest neighbours by which the metric is chosen and memberships are calibrated, and from which positives
        are drawn; 0 turns off everything that needs neighbours.
    max_epochs : int or "auto", default="auto"
        Most passes over the data: training ends when labels and codes have settled. ``"auto"`` is 10, or as many as
        make 600 gradient steps.
    batch_size : int, default=256
    learning_rate : float, default=3e-3
        Of Adam.
    options : SSCNetOptions, optional
        What the paper names, and what we add to it; None is ``SSCNetOptions()``.
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
    exemplar_indices_ : ndarray of shape (n_clusters,)
        The rows that the network places nearest to the centres of the clusters.
    atoms_ : ndarray of shape (n_atoms, D), or a list of them, one per view
        The atoms of the dictionary, in input space.
    atom_use_ : ndarray of shape (n_clusters, n_atoms)
        Mean absolute weight of each atom in the codes of each cluster.
    sparsity_ : ndarray of shape (n,)
        Share of the entries of each row's code that are zero.
    reconstruction_ : ndarray of shape (n,)
        Length of each row's residual, relative to that of the row.
    landmark_graph_ : sparse matrix of shape (n_landmarks, n_landmarks)
        The symmetric graph of the landmarks.
    landmark_places_ : ndarray of shape (n_landmarks, n_clusters)
        Their rows of the spectral embedding, of unit length.
    landmark_labels_ : ndarray of shape (n_landmarks,)
    n_clusters_ : int
        How many clusters there are.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (n_clusters,)
    history_ : list of dict
        One record per epoch.
    metric_ : MetricChoice
    scaler_ : Scaler
    modules_ : Modules
        The network, the landmarks and the eigen-layers.
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

    See Also
    --------
    SSC : Exact sparse subspace clustering, for a few thousand rows.

    Notes
    -----
    The method is that of "SSCNet: learning-based subspace clustering" with the landmarks of our specification: the
    printed embedding of each batch cannot be compared with another's. The initial partition, the choice of the metric
    and the neighbour contrast are ours. In `partial_fit` the landmarks stay the same rows, and label the new
    ones. The page on SSCNet in the documentation has the equations, the corrections and the measurements behind the
    defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SSCNet
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0] * 8, [5.0] * 8], 40, axis=0) + rng.normal(size=(80, 8))
    >>> model = SSCNet(n_clusters=2, n_atoms=16, max_epochs=30, random_state=0).fit(X)
    >>> sorted(model.cluster_sizes_.tolist())
    [40, 40]
    >>> model.predict(X[:1]) == model.labels_[:1]
    array([ True])
    """

    _options: ClassVar[type[Options]] = SSCNetOptions
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "dictionary": one_of(*dictionaries.KINDS),
        "n_atoms": whole(1),
        "image_shape": either(one_of(None), sizes("two or three positive whole numbers")),
        "n_blocks": whole(0),
        "n_landmarks": whole(2),
        "n_neighbors": whole(0),
        "options": either(one_of(None), a_kind_of(SSCNetOptions, "SSCNetOptions")),
        **TRAINING_RULES,
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        views: Any = None,
        scale: str = "auto",
        metric: str = "auto",
        dictionary: str = "linear",
        n_atoms: int = 256,
        image_shape: Sequence[int] | None = None,
        n_blocks: int = 2,
        n_landmarks: int = 1500,
        n_neighbors: int = 15,
        max_epochs: int | str = "auto",
        batch_size: int = 256,
        learning_rate: float = 3e-3,
        options: SSCNetOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.scale = scale
        self.metric = metric
        self.dictionary = dictionary
        self.n_atoms = n_atoms
        self.image_shape = image_shape
        self.n_blocks = n_blocks
        self.n_landmarks = n_landmarks
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

    def _check_data(self, data: Views) -> None:
        super()._check_data(data)
        if min(self.n_landmarks, data.n_rows) <= self.n_clusters_:
            raise InputError(
                f"n_landmarks={self.n_landmarks} of {data.n_rows} rows cannot be cut into "
                f"n_clusters={self.n_clusters_}; give more landmarks than clusters, and more rows than that."
            )

    def _fit(self, data: Views) -> None:
        settings = SSCNetSettings.of(self._resolved())
        rows = compare_rows(data, settings, self.seed_)
        modules = draw_modules(settings, rows).to(resolve_device(self.device))
        axes = rows.axes(modules.network.projection.space)
        graph = rows.search_neighbours(axes, settings.n_neighbors)
        initial = rows.partition(axes, settings.n_clusters) if settings.options.init == "graph" else None
        task = SSCNetTask(modules, settings, rows.batches, graph=graph, seed=self.seed_)
        self.history_ = train(task, initial, self._watchers(rows.fingerprint()))
        self._label(task, rows)
        self._describe()

    def _fit_more(self, data: Views) -> None:
        settings, seed = SSCNetSettings.of(self._resolved()).for_stream(), self.seed_ + len(self.history_)
        rows = compare_rows(data, settings, seed, scaler=self.scaler_, metric=self.metric_)
        axes = rows.axes(self.modules_.network.projection.space)
        graph = rows.search_neighbours(axes, settings.n_neighbors)
        task = SSCNetTask(self.modules_, settings, rows.batches, graph=graph, seed=seed)
        self._continue_history(train(task, None))
        self._label(task, rows)
        self._describe()

    def _label(self, task: SSCNetTask, rows: ComparedRows) -> None:
        """Keep the modules, and set the labels and what else is predicted for all rows."""
        self.modules_, self.metric_, self.scaler_ = task.modules, rows.metric, rows.batches.scaler
        self.modules_.network.eval()
        labelled = label_rows(self.modules_, rows.batches)
        self.labels_, self.exemplar_indices_ = labelled.labels, labelled.exemplars
        self.sparsity_, self.reconstruction_ = labelled.sparsity, labelled.errors
        self.atom_use_ = labelled.atom_use
        self.tau_ = membership_tau(task, rows.sample, self.labels_)
        self.versions_ = versions()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        network, landmarks = self.modules_.network, self.modules_.landmarks
        self.n_iter_ = len(self.history_)
        self._n_features_out = network.embed[-1].out_features
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self.landmark_labels_ = landmarks.labels.cpu().numpy()
        self.landmark_places_ = landmarks.places().cpu().numpy()
        atoms = network.projection.directions(network.coder.dictionary.atoms()).cpu().numpy()
        views = np.split(atoms, np.cumsum(self.view_dims_in_)[:-1], axis=1)
        self.atoms_ = views[0] if len(views) == 1 else views

    @property
    def landmark_graph_(self) -> sparse.csr_matrix:
        """The symmetric graph of the landmarks, (n_landmarks, n_landmarks)."""
        check_is_fitted(self)
        return self.modules_.landmarks.graph()

    # Using a fitted model

    def encode(self, X: Any) -> np.ndarray:
        """Return the sparse codes of rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, n_atoms), float32
        """
        return np.concatenate([part.codes.cpu().numpy() for part in self._predictions(X)])

    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        for part in self._predictions(X):
            yield part.embedding, -part.logits

    def _predictions(self, X: Any) -> Iterator[Predictions]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        batches = Batches(data, self.scaler_, batch_size=self.batch_size, seed=0)
        yield from predict_batches(self.modules_.network, batches)

    # Saving

    _saved: ClassVar[tuple[str, ...]] = (
        "labels_",
        "exemplar_indices_",
        "sparsity_",
        "reconstruction_",
        "atom_use_",
    )

    def _named_modules(self) -> dict[str, nn.Module]:
        return self.modules_.named()

    def _build_modules(self, values: Mapping[str, Any]) -> None:
        settings = SSCNetSettings.of(self._resolved())
        options = settings.options.set_params(n_code=values.get("n_code", 10))  # the default of files without
        settings, self.metric_ = (
            replace(settings, options=options),
            MetricChoice.from_values(values["metric"]),
        )
        self.modules_ = build_modules(settings, self.metric_.kind, self.n_features_in_, values["landmarks"])

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values, arrays = super()._pack()
        landmarks = len(self.modules_.landmarks.rows)
        own = {"metric": self.metric_.as_values(), "landmarks": landmarks, "n_code": self._n_features_out}
        return values | own, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        before = {"network.code_spread": np.ones((), dtype=np.float32)}  # of files without
        super()._unpack(values, before | arrays)


@dataclass(frozen=True)
class Labelled:
    """What is predicted for all rows: see the attributes of `SSCNet`; `errors` are its `reconstruction_`."""

    labels: np.ndarray
    exemplars: np.ndarray
    sparsity: np.ndarray
    errors: np.ndarray
    atom_use: np.ndarray


def label_rows(modules: Modules, batches: Batches) -> Labelled:
    """Label every row, and gather statistics of its code, in one pass."""
    centers, n_atoms = modules.landmarks.centers, modules.network.coder.dictionary.n_atoms
    k, n_rows, collectives = len(centers), batches.views.n_rows, batches.collectives
    labels, sparsity, errors = ArrayBuilder(), ArrayBuilder(), ArrayBuilder()
    use = torch.zeros(k, n_atoms, dtype=torch.float64, device=centers.device)
    exemplars = NearestRows(k, share_of(n_rows, collectives).start)
    for part in predict_batches(modules.network, batches):
        clusters = part.logits.argmax(1)
        labels.add(clusters)
        sparsity.add((part.codes == 0).float().mean(1))
        errors.add(part.errors)
        use.index_add_(0, clusters, part.codes.abs().double())
        distances = squared_distances(F.normalize(part.places, dim=1), centers)
        exemplars.add(distances.masked_fill(F.one_hot(clusters, k) == 0, torch.inf))
    labels_of_all, zeros, residuals = (
        gathered(mine.joined(), n_rows, collectives) for mine in (labels, sparsity, errors)
    )
    counts = np.bincount(labels_of_all, minlength=k)
    mean_use = collectives.sum(use).cpu().numpy() / np.maximum(counts, 1)[:, None]
    return Labelled(labels_of_all, exemplars.over(collectives), zeros, residuals, mean_use.astype(np.float32))


def membership_tau(task: SSCNetTask, sample: Tensor, labels: np.ndarray) -> float:
    """Return the tau of `predict_proba`, calibrated so that the mean confidence is the agreement of neighbours.

    A classifier of its own pseudo-labels is overconfident; the share of neighbours in one cluster can be checked.
    """
    if task.graph is None:
        return 1.0
    logits = predict_rows(task.network, sample.to(task.device)).logits
    return calibrated_tau(-logits, task.graph.agreement(labels))
