"""`LargeMvCNet`: multi-view clustering by anchors that the views share."""

# n rows, v views, d columns of a view, m anchors, c clusters

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from coterie.data import Scaler, Views
from coterie.data.batches import Batches
from coterie.engine.device import resolve_device
from coterie.engine.distributed import current_collectives
from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.graph.compare import compare_views
from coterie.graph.initial import join_sample, partition_views, share_inside, view_agreement
from coterie.graph.outliers import Guard, scaled_rows
from coterie.graph.scaling import Sample, draw_sample, fit_scaler
from coterie.graph.views import JoinedGraph
from coterie.methods.deep import DeepClusterer
from coterie.methods.largemvc import fitting
from coterie.methods.largemvc.features import ColumnFeatures, ConcatenatedFeatures, LandmarkFeatures
from coterie.methods.largemvc.inputs import FeatureBatch, Inputs, Passes
from coterie.methods.largemvc.network import UnfoldedNetwork
from coterie.methods.largemvc.options import PRESETS, LargeMvCNetOptions
from coterie.methods.largemvc.training import LargeMvCTask
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, flag, one_of, whole
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.ops.distances import squared_distances
from coterie.ops.distributed_rows import agreed
from coterie.ops.memberships import calibrated_tau
from coterie.store import below, versions

_CORRUPT_WEIGHT = 0.5
_VALUES = ("seed", "tau", "inertia", "history")
_ARRAYS = ("labels", "exemplar_indices", "row_weights", "noise", "view_weights", "view_agreement")


@dataclass(frozen=True)
class ComparedSample:
    """The sample that everything is initialised from: raw, scaled, and as features; `n_neighbors` fits its size."""

    sample: Sample
    scaled: list[Tensor]
    batch: FeatureBatch
    n_neighbors: int


class InitialPartition(NamedTuple):
    """Labels of the sample, (s,), one cluster per anchor, and the share of the edge weight inside clusters."""

    labels: np.ndarray
    inside: float


class LargeMvCNet(DeepClusterer):
    """Multi-view clustering by shared anchors, with missing and corrupt views (LargeMvC-Net [1]_).

    Each row gets one non-negative code from all the views it has. The code explains a view through that view's
    anchors; rows of a view that no code explains count as noise and lose weight. The cost is linear in the number of
    rows, and the rows need not fit into memory.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; ``"auto"`` estimates it, as `coterie.choose_k` does.
    preset : {"paper", "authors"}, optional
        ``"paper"`` takes what the paper prints wherever a parameter is ``"auto"`` or an option was not given, and
        ``"authors"`` what the released code does on a GPU.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, see `coterie.data.Scaler`. ``"auto"`` takes for each view the one under which the
        views agree most on nearest neighbours.
    n_anchors : int or "auto", default="auto"
        Length of the code; by default one anchor per cluster.
    n_neighbors : int, default=10
        Nearest neighbours of a row in each view's graph.
    n_layers : int, default=2
        Layers of the network; without training, sweeps of block coordinate descent.
    noise : bool, default=True
        Whether rows of a view may be corrupt; False is the paper's AMvC-Net.
    max_epochs : int or "auto", default="auto"
        Epochs that train R, U and the thresholds. With none the network is exact block coordinate descent; ``"auto"``
        is none, and 100 with a preset.
    batch_size : int, "all" or "auto", default="auto"
        Rows of a training step; ``"auto"`` is 1024, and all with a preset.
    options : LargeMvCNetOptions, optional
        Parameters of the paper and of our additions; None is ``LargeMvCNetOptions()``.
    checkpoint : path, optional
        File for the state of training, written every ten epochs and resumed from when it exists.
    device : str, default="auto"
        A torch device; ``"auto"`` is a GPU where there is one.
    verbose : int, default=0
        1 shows a progress bar on a terminal.
    random_state : int, RandomState or None, default=None
        Seed of everything random.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each row.
    view_weights_ : ndarray of shape (v,)
        Share of each view that the codes explain, of what codes of this length could explain if they served that
        view alone.
    view_agreement_ : ndarray of shape (v, v)
        Agreement of the views on nearest neighbours, beyond chance.
    row_weights_ : ndarray of shape (n, v)
        Weight of each row in each view: 1 where it fits, less where it is noisy, 0 where it is missing.
    noise_ : ndarray of bool, shape (n, v)
        Which rows of which views are corrupt.
    anchors_ : list of ndarray of shape (m, d)
        The anchors in the space of each view.
    cluster_centers_ : ndarray of shape (n_clusters, m)
        The centres of the codes of unit norm.
    n_clusters_ : int
        Number of clusters.
    k_choice_ : KChoice or None
        Evidence for the number of clusters, where ``n_clusters="auto"``.
    cluster_sizes_ : ndarray of shape (n_clusters,)
    exemplar_indices_ : ndarray of shape (n_clusters,)
        The rows nearest to the centres, among those with no missing or corrupt view where there are any.
    exemplars_ : ndarray of shape (n_clusters, d), or a list of them, one per view
        The centres in the space of each view.
    inertia_ : float
        Sum of the squared distances of the codes to their centres.
    history_ : list of dict
        One record per epoch and per sweep; without training, the `objective` of the sweeps never rises.
    scaler_ : Scaler
        Its `modes_` are the chosen scalings.
    inputs_, network_ : torch modules
    tau_ : float
        Sharpness of `predict_proba`: the mean confidence is the share of edges inside clusters.
    seed_ : int
        Seed of this fit; ``random_state=model.seed_`` repeats it.
    n_iter_ : int
        Number of epochs and sweeps.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Versions of the packages that the result depends on.

    Notes
    -----
    Landmark features, the initial partition by a graph, the choice of scalings and the detection of corrupt rows are
    ours; the method's page lists our corrections of the paper.

    References
    ----------
    .. [1] Du et al., "LargeMvC-Net: Anchor-based Deep Unfolding Network for Large-scale Multi-view Clustering", ACM
       Multimedia 2025, https://arxiv.org/abs/2507.20980

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import LargeMvCNet
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], 50)
    >>> left, right = kind[:, None] * 4 + rng.normal(size=(2, 100, 6))
    >>> right[7] = np.nan  # this row has no right view
    >>> model = LargeMvCNet(n_clusters=2, random_state=0).fit({"left": left, "right": right})
    >>> sorted(model.cluster_sizes_.tolist())
    [50, 50]
    """

    _takes_missing: ClassVar[bool] = True
    _options: ClassVar[type[Options]] = LargeMvCNetOptions
    _presets: ClassVar[Mapping[str | None, Mapping[str, Any]]] = PRESETS
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "preset": one_of(*PRESETS),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "n_anchors": either(one_of("auto"), whole(1)),
        "n_neighbors": whole(1),
        "n_layers": whole(1),
        "noise": flag(),
        "max_epochs": either(one_of("auto"), whole(0)),
        "batch_size": either(one_of("auto", "all"), whole(1)),
        "options": either(one_of(None), a_kind_of(LargeMvCNetOptions, "LargeMvCNetOptions")),
        "verbose": either(whole(0), flag()),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        preset: str | None = None,
        views: Any = None,
        scale: Any = "auto",
        n_anchors: int | str = "auto",
        n_neighbors: int = 10,
        n_layers: int = 2,
        noise: bool = True,
        max_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        options: LargeMvCNetOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.preset = preset
        self.views = views
        self.scale = scale
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_layers = n_layers
        self.noise = noise
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.options = options
        self.checkpoint = checkpoint
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    # Fitting

    def _check_data(self, data: Views) -> None:
        least = max(2, self.n_clusters_, self._code_length())
        if data.n_rows < least:
            raise InputError(
                f"n_samples={data.n_rows} should be >= n_clusters={self.n_clusters_}, >= n_anchors="
                f"{self._code_length()} and at least 2 (1 sample is no cluster); ask for fewer or give more rows."
            )

    def _code_length(self) -> int:
        return self.n_clusters_ if self.n_anchors == "auto" else int(self.n_anchors)

    def _fit(self, data: Views) -> None:
        generator = torch.Generator().manual_seed(self.seed_)
        compared = self._compare(data, generator)
        graph = self._build_graph(compared, generator)
        initial = self._partition(compared, graph, generator)
        passes = self._train(data, compared, initial, generator)
        rows = self._label(passes, compared, initial, generator)
        self._describe(rows, compared)

    def _compare(self, data: Views, generator: torch.Generator) -> ComparedSample:
        """Draw a sample, scale its views, and fit their features."""
        options = self._options_in_effect()
        guard = self.noise and options.outliers
        sample = draw_sample(data, guard=guard, seed=self.seed_, generator=generator)
        k = min(self.n_neighbors, len(sample.sound) - 1)
        self.scaler_ = fit_scaler(sample, self._resolved()["scale"], data.names, k, generator)
        scaled = scaled_rows(self.scaler_, sample.blocks, sample.sound)
        self.inputs_ = fitting.fit_inputs(
            sample, scaled, self.scaler_, self.n_clusters_, options, generator
        ).to(resolve_device(self.device))
        batch = self.inputs_.prepare_scaled(scaled, sample.sound, sample.corrupt)
        return ComparedSample(sample, scaled, batch, k)

    def _build_graph(self, compared: ComparedSample, generator: torch.Generator) -> JoinedGraph:
        """Build the multi-view kNN graph of the sample; the views' agreement and tau need it with any init."""
        sample, views = compared.sample, [view.numpy() for view in compared.scaled]
        comparison = compare_views(sample, self.scaler_, views, len(sample.sound), generator)
        graph = join_sample(comparison, views, sample.sound, compared.n_neighbors, missing=~sample.there)
        self.view_agreement_ = view_agreement(comparison, graph)
        return graph

    def _partition(
        self, compared: ComparedSample, graph: JoinedGraph, generator: torch.Generator
    ) -> InitialPartition:
        m = self._code_length()
        if self._options_in_effect().init == "graph":
            labels = partition_views(graph, m, seed=self.seed_)
        else:
            labels = fitting.kmeans_labels(compared.batch, m, generator=generator)
        labels = agreed(labels, current_collectives())
        return InitialPartition(labels, share_inside(graph.matrix, labels, m))

    def _train(
        self, data: Views, compared: ComparedSample, initial: InitialPartition, generator: torch.Generator
    ) -> Passes:
        """Initialise the network, train it for `max_epochs`, and sweep over all rows once per layer."""
        options, collectives = self._options_in_effect(), current_collectives()
        device = self.inputs_.idle.device
        self.network_ = self._build_network().to(device)
        labels = torch.from_numpy(initial.labels).to(device)
        alpha = fitting.initialise(self.network_, compared.batch, labels, options, generator)
        self.history_ = []
        if self._resolved()["max_epochs"]:
            self._run_epochs(data, alpha, compared.sample.fingerprint())
        passes = Passes(self.inputs_, data, collectives)
        for layer in range(self.n_layers):
            started = time.perf_counter()
            value = fitting.sweep(self.network_, passes, layer, alpha=alpha, fixed=options.fixed_anchors)
            record = {"sweep": layer, "phase": "sweep", "objective": value}
            self.history_.append({**record, "seconds": time.perf_counter() - started})
        return passes

    def _build_network(self) -> UnfoldedNetwork:
        options = self._options_in_effect()
        return UnfoldedNetwork(
            self.inputs_.widths,
            self._code_length(),
            self.n_layers,
            noise=self.noise,
            per_view=options.per_view_threshold,
            threshold=options.threshold,
            unit_codes=options.unit_codes,
        )

    def _run_epochs(self, data: Views, alpha: float, checksum: int) -> None:
        """Train R, U and the thresholds by gradient steps."""
        settings = self._resolved()
        size = data.n_rows if settings["batch_size"] == "all" else settings["batch_size"]
        collectives, unscaled = current_collectives(), Scaler("none").fit(data)
        batches = Batches(data, unscaled, batch_size=size, seed=self.seed_, collectives=collectives)
        loop = Loop(
            LargeMvCTask(self.network_, self.inputs_, data, alpha, settings["options"], collectives),
            batches.epoch,
            per_epoch=batches.per_epoch,
            max_epochs=settings["max_epochs"],
            callbacks=self._watchers([data.n_rows, list(data.dims), checksum]),
            collectives=collectives,
        )
        loop.run()
        self.history_ = list(loop.history)

    def _label(
        self, passes: Passes, compared: ComparedSample, initial: InitialPartition, generator: torch.Generator
    ) -> fitting.LabelledRows:
        """Place the centres and calibrate the memberships on the sample, then label every row."""
        batch = compared.batch
        with torch.no_grad():
            codes = self.network_.places(self.network_(batch.rows, batch.present)[-1])
        from_start = self.network_.unit_codes and self._code_length() == self.n_clusters_
        start = torch.from_numpy(initial.labels).to(codes.device) if from_start else None
        self._centers = fitting.place_centers(codes, start, self.n_clusters_, generator=generator)
        self.tau_ = calibrated_tau(squared_distances(codes, self._centers), initial.inside)
        return fitting.label_rows(self.network_, passes, self._centers)

    def _describe(self, rows: fitting.LabelledRows, compared: ComparedSample) -> None:
        self.labels_, self.exemplar_indices_, self.inertia_ = rows.labels, rows.exemplars, rows.inertia
        best = fitting.best_shares(compared.batch.rows[: len(compared.scaled)], self._code_length())
        self.row_weights_ = rows.weights
        self.view_weights_ = np.clip(rows.explained / np.maximum(best, np.finfo(float).tiny), 0, 1)
        self.noise_ = rows.corrupt | ((rows.weights > 0) & (rows.weights < _CORRUPT_WEIGHT))
        self.versions_ = versions()
        self._set_derived()

    def _set_derived(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self._n_features_out = self._code_length()
        anchors = self.network_.anchors(self.n_layers)
        self.anchors_ = self.inputs_.restore(anchors)
        self.cluster_centers_ = self._centers.cpu().numpy()
        exemplars = self.inputs_.restore([self._centers @ own for own in anchors])
        self.exemplars_ = exemplars[0] if len(exemplars) == 1 else exemplars

    # Using a fitted model

    def inverse_transform(self, codes: Any) -> list[np.ndarray]:
        """Reconstruct each view of rows with these codes, missing views included.

        Parameters
        ----------
        codes : array-like of shape (n, m)
            From `transform`.

        Returns
        -------
        list of ndarray of shape (n, d), one per view
        """
        check_is_fitted(self)
        given = torch.as_tensor(np.asarray(codes, dtype=np.float32)).to(self._centers.device)
        if given.ndim != 2 or given.shape[1] != self._n_features_out:
            raise InputError(
                f"codes has shape {tuple(given.shape)} but needs {self._n_features_out} columns, as transform gives."
            )
        return self.inputs_.restore([given @ own for own in self.network_.anchors(self.n_layers)])

    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        batches = self.inputs_.stream(data, self.inputs_.chunks(data))
        for encoded in fitting.encode(self.network_, batches, self._centers):
            yield encoded.codes, encoded.distances

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {name: getattr(self, f"{name}_") for name in _VALUES}
        values |= {
            "scale": list(self.scaler_.modes_),
            "widths": self.inputs_.widths,
            "concatenated": self.inputs_.concatenated is not None,
            "guards": self.inputs_.guard_sizes,
        }
        arrays = module_arrays("network.", self.network_) | module_arrays("inputs.", self.inputs_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        arrays |= {name: getattr(self, f"{name}_") for name in _ARRAYS}
        return values, arrays | {"centers": self.cluster_centers_}

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if "beside" in values:  # the name of the concatenated views in version 0.1
            values = {**values, "concatenated": values["beside"]}
            arrays = {name.replace("inputs.beside.", "inputs.concatenated."): x for name, x in arrays.items()}
        device = resolve_device(self.device)
        stored = {name: values[name] for name in _VALUES} | {name: arrays[name] for name in _ARRAYS}
        for name, value in stored.items():
            setattr(self, f"{name}_", value)
        self.noise_ = self.noise_.astype(bool)
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        sizes = list(zip(values["widths"], self.view_dims_in_, strict=False))
        with unfilled():
            features: list[ColumnFeatures | LandmarkFeatures] = (
                [ColumnFeatures(d) for _, d in sizes]
                if self._options_in_effect().features == "columns"
                else [LandmarkFeatures(width, d) for width, d in sizes]
            )
            guards = [Guard(size, d) for size, d in zip(values["guards"], self.view_dims_in_, strict=False)]
            concatenated = (
                ConcatenatedFeatures(values["widths"][-1], self.view_dims_in_)
                if values["concatenated"]
                else None
            )
            self.inputs_ = Inputs(self.scaler_, features, guards, concatenated)
            self.network_ = self._build_network()
        load_arrays("inputs.", self.inputs_, arrays)
        load_arrays("network.", self.network_, arrays)
        self.inputs_.to(device), self.network_.to(device)
        self._centers = torch.tensor(arrays["centers"], device=device)
        self._set_derived()
