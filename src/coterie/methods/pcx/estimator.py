"""`PCX`: what a person calls."""

# n rows, D features, d code features, k clusters

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from coterie.data import Scaler, Views
from coterie.data.batches import Batches
from coterie.engine.callbacks import EarlyStopping
from coterie.engine.device import resolve_device, thread_cap
from coterie.engine.loop import Callback, Loop
from coterie.graph.metric import KINDS, MetricChoice
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, flag, one_of, real, sizes, whole
from coterie.methods.pcx import build, fitting
from coterie.methods.pcx.fitting import Parts
from coterie.methods.pcx.presets import PRESETS
from coterie.methods.pcx.training import PCXTask
from coterie.methods.trained import TRAINING_RULES, TrainedClusterer
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.store import below


class PCX(TrainedClusterer[Parts, PCXTask]):
    """Deep clustering with slow exemplars (PC-X).

    An auto-encoder learns a code in which a row is near its nearest neighbours; the code is cut into clusters;
    then code and cluster centres are trained together: the decoder sees each code beside its centre, codes are
    drawn towards their centres, and the centres follow slowly as moving averages, so that each becomes an
    exemplar that can be decoded and looked at.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    preset : {"paper"}, optional
        ``"paper"`` sets whatever was left at its default to what the paper prints. It is there for comparison:
        those settings lose clusters on most data.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. PCX puts views side by side.
    scale : str, list or mapping, default="auto"
        Scaling of each view, one of ``"feature"``, ``"minmax"``, ``"sample"``, ``"none"``. ``"auto"``
        standardises columns of different units and leaves columns of one kind, such as pixels, as they are.
    metric : {"auto", "euclidean", "correlation", "whitened"}, default="auto"
        How rows are compared, by the encoder and in the search for neighbours. ``"auto"`` takes the one whose
        neighbours agree most, without any label.
    encoder : {"mlp", "conv"} or torch module, default="mlp"
        ``"conv"`` needs `image_shape`. A module maps (b, D) rows to (b, n_code) codes and needs a `decoder`;
        it is copied, and its weights are where training starts.
    decoder : torch module, optional
        Of a custom `encoder`.
    hidden : sequence of int
        Widths of the encoder's hidden layers; the decoder mirrors them.
    n_code : int, default=10
        Width of the code.
    image_shape : (height, width) or (channels, height, width), optional
        What the columns of a row are, for ``encoder="conv"`` and for reports.
    latent_norm : bool, default=False
        Whether a BatchNorm without scale and shift ends the encoder.
    reconstruction : {"mse", "bce"}, default="mse"
        The decoder's loss; ``"bce"`` for values from 0 to 1.
    reconstruction_weight : float, default=1.0
        Weight of that loss, which is relative to the variance of the rows.
    max_epochs : int or "auto", default="auto"
        Passes over the data, the warm-up included. ``"auto"`` gives every data set enough gradient steps.
    warmup : float, default=0.8
        Share of the epochs that train the code before there are clusters.
    init : {"graph", "kmeans", "xavier"}, default="graph"
        Where the clusters start after the warm-up: spectral clustering on an anchor graph of the codes, the
        best of twenty by the modularity of the neighbours; k-means on the codes; or the paper's random centroids.
    student : float, default=0.25
        Epochs, as a share of `max_epochs`, of a classifier that learns the clusters of the start and corrects
        them: it is made certain, true to the sizes of the clusters, of one mind with the neighbours, and smooth
        to the worst small step away from each row. The code then gathers around the corrected clusters. It is an
        MLP with the widths of `hidden`, whatever the encoder is, and needs neighbours; 0 leaves the start as it is.
    batch_size : int, default=256
    learning_rate : float, default=1e-3
        Of Adam.
    schedule : {"onecycle", "constant"}, default="onecycle"
        Course of the learning rate.
    clip_norm : float, optional
        Largest norm of the gradient.
    n_neighbors : int, default=15
        Nearest neighbours that partners are drawn from; 0 turns everything that needs neighbours off.
    neighbor_weight : float, default=1.0
        Weight of the neighbour contrast on the code.
    attraction : float, default=1.0
        How much harder partners pull than strangers push.
    centroid_weight : float, default=1.0
        Weight eta1 of the clustering loss.
    entropy_weight : float, default=0.1
        Weight eta2 of the minimum-entropy term, on after the burn-in.
    consistency_weight : float, default=1.0
        Weight of the agreement between a row's memberships and its partner's cluster, or the one it is to keep.
    balance_weight : float, default=0.0
        Weight of a term that makes clusters equally large; only for data where they are.
    relative_weights : bool, default=True
        Whether `centroid_weight` and `tau` refer to the present size of distances instead of to absolute ones.
    tau : float, default=1.0
        Sharpness of the memberships.
    burn_in : float, default=0.25
        Share of the epochs after the warm-up in which the entropy term and the size weights are off.
    hold : float, default=0.5
        Share of the epochs after the warm-up in which rows keep the cluster of the start; after a student they keep
        it until their codes have gathered, unless this is 0.
    memory : float, default=0.995
        How much of a centroid stays in each step (kappa).
    centroid_update : {"fixed", "eq6"}, default="fixed"
        One memory for all centroids, or that of Eq. 6, which is longer for smaller clusters.
    imbalance : bool, default=False
        Whether the clustering loss weighs rows by the inverse size of their cluster (PC-X-IMBA).
    smoothing : float, default=5.0
        Laplace smoothing of those sizes, in rows of a batch.
    code_noise : float, default=0.5
        Noise on the decoder's input while training, in standard deviations of the code.
    ci_unit : bool, default=True
        Whether the decoder sees the centroid beside the code; False is the paper's ablation "no CI".
    fixed_centroids : bool, default=False
        Whether centroids stay where they started; True is the paper's ablation "Fix".
    rescue : bool, default=True
        Whether a centroid that had no rows for five epochs is moved into the widest cluster.
    recluster_every : int, optional
        Run k-means on all codes again every so many epochs; clusters keep their numbers.
    early_stopping : bool, default=False
        Whether to stop when fewer than 0.1 % of the probe rows changed their cluster in ten epochs.
    checkpoint : path, optional
        File to write the state to and to go on from when it is there.
    checkpoint_every : int, default=10
        Epochs between checkpoints.
    device : str, default="auto"
        A torch device; ``"auto"`` is a GPU where there is one.
    n_threads : int, optional
        Most threads that torch may use.
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
        How many clusters were looked for.
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
    the metric, the graph start, the student and the consistency term are ours. The page on PCX in the
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

    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "preset": one_of(None, *PRESETS),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "metric": one_of("auto", *KINDS),
        "encoder": either(one_of("mlp", "conv"), a_kind_of(nn.Module, "a torch module")),
        "decoder": either(one_of(None), a_kind_of(nn.Module, "a torch module")),
        "hidden": sizes(),
        "n_code": whole(1),
        "image_shape": either(one_of(None), sizes("two or three positive whole numbers")),
        "latent_norm": flag(),
        "reconstruction": one_of("mse", "bce"),
        "reconstruction_weight": real(0),
        "init": one_of("graph", "kmeans", "xavier"),
        "student": real(0),
        "n_neighbors": whole(0),
        "neighbor_weight": real(0),
        "attraction": real(0),
        "centroid_weight": real(0),
        "entropy_weight": real(0),
        "consistency_weight": real(0),
        "balance_weight": real(0),
        "relative_weights": flag(),
        "tau": real(0, above=True),
        "burn_in": real(0, 1),
        "hold": real(0, 1),
        "memory": real(0, 1),
        "centroid_update": one_of("fixed", "eq6"),
        "imbalance": flag(),
        "smoothing": real(0),
        "code_noise": real(0),
        "ci_unit": flag(),
        "fixed_centroids": flag(),
        "rescue": flag(),
        "recluster_every": either(one_of(None), whole(1)),
        "early_stopping": flag(),
        **TRAINING_RULES,
    }
    _stream_params: ClassVar[Mapping[str, Any]] = {"burn_in": 0.0, "hold": 0.0, "rescue": False}

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        preset: str | None = None,
        views: Any = None,
        scale: str = "auto",
        metric: str = "auto",
        encoder: str | nn.Module = "mlp",
        decoder: nn.Module | None = None,
        hidden: Sequence[int] = (512, 256),
        n_code: int = 10,
        image_shape: Sequence[int] | None = None,
        latent_norm: bool = False,
        reconstruction: str = "mse",
        reconstruction_weight: float = 1.0,
        max_epochs: int | str = "auto",
        warmup: float = 0.8,
        init: str = "graph",
        student: float = 0.25,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        schedule: str = "onecycle",
        clip_norm: float | None = None,
        n_neighbors: int = 15,
        neighbor_weight: float = 1.0,
        attraction: float = 1.0,
        centroid_weight: float = 1.0,
        entropy_weight: float = 0.1,
        consistency_weight: float = 1.0,
        balance_weight: float = 0.0,
        relative_weights: bool = True,
        tau: float = 1.0,
        burn_in: float = 0.25,
        hold: float = 0.5,
        memory: float = 0.995,
        centroid_update: str = "fixed",
        imbalance: bool = False,
        smoothing: float = 5.0,
        code_noise: float = 0.5,
        ci_unit: bool = True,
        fixed_centroids: bool = False,
        rescue: bool = True,
        recluster_every: int | None = None,
        early_stopping: bool = False,
        checkpoint: str | None = None,
        checkpoint_every: int = 10,
        device: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.views = views
        self.scale = scale
        self.metric = metric
        self.encoder = encoder
        self.decoder = decoder
        self.hidden = hidden
        self.n_code = n_code
        self.image_shape = image_shape
        self.latent_norm = latent_norm
        self.reconstruction = reconstruction
        self.reconstruction_weight = reconstruction_weight
        self.max_epochs = max_epochs
        self.warmup = warmup
        self.init = init
        self.student = student
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.n_neighbors = n_neighbors
        self.neighbor_weight = neighbor_weight
        self.attraction = attraction
        self.centroid_weight = centroid_weight
        self.entropy_weight = entropy_weight
        self.consistency_weight = consistency_weight
        self.balance_weight = balance_weight
        self.relative_weights = relative_weights
        self.tau = tau
        self.burn_in = burn_in
        self.hold = hold
        self.memory = memory
        self.centroid_update = centroid_update
        self.imbalance = imbalance
        self.smoothing = smoothing
        self.code_noise = code_noise
        self.ci_unit = ci_unit
        self.fixed_centroids = fixed_centroids
        self.rescue = rescue
        self.recluster_every = recluster_every
        self.early_stopping = early_stopping
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.n_threads = n_threads
        self.verbose = verbose
        self.random_state = random_state

    # Fitting

    def _prepare(self, params: Mapping[str, Any], data: Views) -> Parts:
        return fitting.prepare(params, data, self.seed_, resolve_device(self.device))

    def _prepare_more(self, params: Mapping[str, Any], data: Views, seed: int) -> Parts:
        return fitting.prepare_more(params, data, self.network_, self.scaler_, self.metric_, seed=seed)

    def _make_task(self, params: Mapping[str, Any], parts: Parts) -> PCXTask:
        return fitting.make_task(params, parts)

    def _follow(self, task: PCXTask, loop: Loop) -> None:
        task.started = True
        loop.run()

    def _resolved(self) -> dict[str, Any]:
        """Return the parameters; a preset decides those that were left at their defaults."""
        params = super()._resolved()
        defaults = inspect.signature(type(self)).parameters
        for name, value in PRESETS.get(self.preset or "", {}).items():
            if params[name] == defaults[name].default:
                params[name] = value
        return params

    def _watchers(self, fingerprint: list[Any]) -> list[Callback]:
        callbacks = super()._watchers(fingerprint)
        if self.early_stopping:
            # Before the checkpoint, which writes the last epoch of a run that stops.
            callbacks.insert(0, EarlyStopping("changed", below=1e-3, patience=10))
        return callbacks

    def _conclude(self, parts: Parts, task: PCXTask) -> None:
        self.network_, self.metric_ = parts.network, parts.metric
        found = fitting.label_all(parts.network, parts.batches)
        self.labels_, self.inertia_, self.exemplar_indices_ = found.labels, found.inertia, found.exemplars
        self.tau_ = fitting.membership_tau(parts, task.settings, found.labels)
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self.network_.eval()
        self._n_features_out = self.network_.centroids.shape[1]
        with torch.no_grad():
            decoded = self.network_.exemplars().cpu().numpy()
        parts = np.split(decoded, np.cumsum(self.view_dims_in_)[:-1], axis=1)
        exemplars = self.scaler_.inverse_transform(parts)
        self.exemplars_ = exemplars[0] if len(exemplars) == 1 else exemplars
        self.cluster_centers_ = self.network_.centroids.cpu().numpy()

    # Using a fitted model

    def _over(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        with thread_cap(self.n_threads):
            batches = Batches(data, self.scaler_, batch_size=self.batch_size, seed=0)
            yield from fitting.assigned(self.network_, batches)

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "tau": self.tau_,
            "inertia": self.inertia_,
            "history": self.history_,
            "metric": self.metric_.as_values(),
            "scale": list(self.scaler_.modes_),
        }
        arrays = module_arrays("network.", self.network_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        arrays |= {"labels": self.labels_, "exemplar_indices": self.exemplar_indices_}
        return values, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.tau_, self.inertia_ = values["seed"], values["tau"], values["inertia"]
        self.history_ = values["history"]
        self.metric_ = MetricChoice.from_values(values["metric"])
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        with unfilled():
            self.network_ = build.build_network(self._resolved(), self.metric_.kind, self.n_features_in_)
        load_arrays("network.", self.network_, arrays)
        self.network_.to(resolve_device(self.device))
        self.labels_, self.exemplar_indices_ = arrays["labels"], arrays["exemplar_indices"]
        self._describe()
