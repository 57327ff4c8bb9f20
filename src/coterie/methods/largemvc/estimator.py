"""`LargeMvCNet`: what a person calls."""

# n rows, v views, d columns of a view, m anchors, c clusters

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

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
from coterie.graph.initial import Start, join_sample, partition_views, share_inside, view_agreement
from coterie.graph.outliers import Guard
from coterie.graph.scaling import Sample, draw_sample, fit_scaler
from coterie.methods.deep import DeepClusterer
from coterie.methods.largemvc import fitting
from coterie.methods.largemvc.features import ColumnFeatures, LandmarkFeatures, SideBySide
from coterie.methods.largemvc.inputs import Inputs, Seen
from coterie.methods.largemvc.network import UnfoldedNetwork
from coterie.methods.largemvc.options import LargeMvCNetOptions
from coterie.methods.largemvc.passes import Passes
from coterie.methods.largemvc.rows import Rows, dense
from coterie.methods.largemvc.training import LargeMvCTask
from coterie.methods.options import Options
from coterie.methods.params import Rule, a_kind_of, cluster_count, either, flag, one_of, whole
from coterie.nn.state import load_arrays, module_arrays, unfilled
from coterie.ops.distances import squared_distances
from coterie.ops.distributed_rows import agreed
from coterie.ops.memberships import calibrated_tau
from coterie.store import below, versions

_CORRUPT_WEIGHT = 0.5


class LargeMvCNet(DeepClusterer):
    """Clusters rows that have several views, some of them missing or corrupt (LargeMvC-Net).

    Each row gets one non-negative code from all the views it has. A view is explained by the code through anchors
    of its own; what no code explains counts as noise and loses weight. Everything is linear in the rows and works
    on data larger than memory.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views.
    scale : str, list or mapping, default="auto"
        Scaling of each view, see `coterie.data.Scaler`. ``"auto"`` takes for each view the one under which the
        views agree most on which rows are near each other.
    n_anchors : int or "auto", default="auto"
        Length of the code; one anchor a cluster by default.
    n_neighbors : int, default=10
        Nearest neighbours of a row in each view's graph.
    n_layers : int, default=2
        Layers of the network; without training, sweeps of block descent.
    noise : bool, default=True
        Whether rows of a view may be corrupt; False is the paper's AMvC-Net.
    max_epochs : int, default=0
        Epochs that train R, U and the thresholds. Without any the network is exact block descent.
    batch_size : int, default=1024
    options : LargeMvCNetOptions, optional
        What the paper names, and what we add to it; None is ``LargeMvCNetOptions()``.
    checkpoint : path, optional
        File to write the state of training to, every ten epochs, and to go on from when it is there.
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
    view_weights_ : ndarray of shape (v,)
        How much of each view the codes explain, as a share of what codes of this length could explain at best if
        they served that view alone.
    view_agreement_ : ndarray of shape (v, v)
        How much oftener than by chance two views name the same neighbours.
    row_weights_ : ndarray of shape (n, v)
        How much each row counts in each view: 1 where it fits, less where it is noisy, 0 where it is missing.
    noise_ : ndarray of bool, shape (n, v)
        Which rows of which views were judged corrupt.
    anchors_ : list of ndarray of shape (m, d)
        The anchors in the space of each view.
    cluster_centers_ : ndarray of shape (n_clusters, m)
        The centres, in the space of the codes of unit length.
    n_clusters_ : int
        How many clusters were looked for.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (n_clusters,)
    exemplar_indices_ : ndarray of shape (n_clusters,)
        The rows nearest to the centres, of those with no missing or corrupt view where there are any.
    exemplars_ : ndarray of shape (n_clusters, d), or a list of them, one per view
        The centres in the space of each view.
    inertia_ : float
        Sum of the squared distances of the codes to their centres.
    history_ : list of dict
        One record per epoch and per sweep; a sweep's `objective` never rises while nothing was trained.
    scaler_ : Scaler
        Its `modes_` are the scalings that were chosen.
    inputs_, network_ : torch modules
    tau_ : float
        Sharpness of `predict_proba`: the mean confidence is the share of neighbours that are in one cluster.
    seed_ : int
        The number that decided everything random in this fit.
    n_iter_ : int
        Epochs and sweeps done.
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict
        Of the packages that the result depends on.

    Notes
    -----
    The method is that of "LargeMvC-Net" (ACM MM 2025) as corrected by our page on it; landmarks, the graph start,
    the choice of scalings and the guard against corrupt rows are ours.

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
    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "scale": a_kind_of((str, list, tuple, Mapping), "a mode, or one for each view"),
        "n_anchors": either(one_of("auto"), whole(1)),
        "n_neighbors": whole(1),
        "n_layers": whole(1),
        "noise": flag(),
        "max_epochs": whole(0),
        "batch_size": whole(1),
        "options": either(one_of(None), a_kind_of(LargeMvCNetOptions, "LargeMvCNetOptions")),
        "verbose": either(whole(0), flag()),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        views: Any = None,
        scale: Any = "auto",
        n_anchors: int | str = "auto",
        n_neighbors: int = 10,
        n_layers: int = 2,
        noise: bool = True,
        max_epochs: int = 0,
        batch_size: int = 1024,
        options: LargeMvCNetOptions | None = None,
        checkpoint: str | None = None,
        device: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
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
        params, device = self._resolved(), resolve_device(self.device)
        generator = torch.Generator().manual_seed(self.seed_)
        sample = draw_sample(data, guard=self.noise, seed=self.seed_, generator=generator)
        k = min(self.n_neighbors, len(sample.sound) - 1)
        self.scaler_ = fit_scaler(sample, self.scale, data.names, k, generator)
        scaled = fitting.scale_sample(sample, self.scaler_, params)
        self.inputs_ = fitting.fit_inputs(sample, scaled, self.scaler_, params, generator).to(device)
        seen = self.inputs_.see_scaled(scaled.views, sample.sound, sample.corrupt)
        start = self._start(sample, scaled, seen.rows, k, generator)
        self.view_agreement_ = start.agreement
        labels = torch.from_numpy(agreed(start.labels, current_collectives())).to(device)
        self.network_ = self._build().to(device)
        alpha = fitting.start_network(self.network_, seen, labels, params)
        self.history_ = self._train(data, alpha, sample.fingerprint()) if self.max_epochs else []
        passes = Passes(self.inputs_, data, current_collectives())
        self._descend(passes, alpha)
        self._cluster(passes, seen, labels, start.kept, generator)

    def _start(
        self,
        sample: Sample,
        scaled: fitting.Scaled,
        features: list[Rows],
        k: int,
        generator: torch.Generator,
    ) -> Start:
        """Partition the graph of the sample, or take k-means of its features."""
        m = self._code_length()
        # Either start needs the graph: the views' agreement and the sharpness of memberships are read off it.
        views = [view.numpy() for view in scaled.views]
        comparison = compare_views(sample, self.scaler_, views, len(sample.sound), generator)
        joined = join_sample(comparison, views, sample.sound, k, missing=~sample.there)
        if self._options_in_effect().init == "graph":
            labels = partition_views(joined, m, seed=self.seed_)
        else:
            rows = torch.hstack([dense(x) for x in features]).cpu()
            labels = fitting.kmeans_start(rows, m, generator=generator).numpy()
        return Start(labels, view_agreement(comparison, joined), share_inside(joined.matrix, labels, m))

    def _build(self) -> UnfoldedNetwork:
        return UnfoldedNetwork(
            self.inputs_.widths,
            self._code_length(),
            self.n_layers,
            noise=self.noise,
            per_view=self._options_in_effect().per_view_threshold,
        )

    def _train(self, data: Views, alpha: float, checksum: int) -> list[dict[str, Any]]:
        """Train R, U and the thresholds."""
        plain, collectives, options = (
            Scaler("none").fit(data),
            current_collectives(),
            self._options_in_effect(),
        )
        batches = Batches(data, plain, batch_size=self.batch_size, seed=self.seed_, collectives=collectives)
        task = LargeMvCTask(
            self.network_,
            self.inputs_,
            data,
            loss=options.loss,
            alpha=alpha,
            learning_rate=options.learning_rate,
            fixed_anchors=options.fixed_anchors,
            collectives=collectives,
        )
        loop = Loop(
            task,
            batches.epoch,
            per_epoch=batches.per_epoch,
            max_epochs=self.max_epochs,
            callbacks=self._watchers([data.n_rows, list(data.dims), checksum]),
            collectives=collectives,
        )
        loop.run()
        return loop.history

    def _descend(self, passes: Passes, alpha: float) -> None:
        """Sweep over all rows once a layer, so that the anchors of each layer fit the parameters as they are."""
        for layer in range(self.n_layers):
            started = time.perf_counter()
            value = fitting.sweep(
                self.network_,
                passes,
                layer,
                alpha=alpha,
                fixed=self._options_in_effect().fixed_anchors,
                collectives=current_collectives(),
            )
            record = {"sweep": layer, "phase": "sweep", "objective": value}
            self.history_ = [*self.history_, {**record, "seconds": time.perf_counter() - started}]

    def _cluster(
        self, passes: Passes, seen: Seen, start: Tensor, kept: float, generator: torch.Generator
    ) -> None:
        """Place the centres on the sample, then label every row."""
        with torch.no_grad():
            codes = fitting.directions(self.network_(seen.rows, seen.present)[-1])
        whole = self._code_length() == self.n_clusters_
        labels = start if whole else None
        self._centers = fitting.place_centers(codes, labels, self.n_clusters_, generator=generator)
        self.tau_ = calibrated_tau(squared_distances(codes, self._centers), kept)
        found = fitting.assign_all(self.network_, passes, self._centers, current_collectives())
        self.labels_, self.exemplar_indices_, self.inertia_ = found.labels, found.exemplars, found.inertia
        best = fitting.best_shares(seen, passes.views.n_views, self._code_length())
        self.row_weights_ = found.weights
        self.view_weights_ = np.clip(found.explained / np.maximum(best, np.finfo(float).tiny), 0, 1)
        self.noise_ = found.corrupt | ((found.weights > 0) & (found.weights < _CORRUPT_WEIGHT))
        self.versions_ = versions()
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self.n_iter_ = len(self.history_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)
        self._n_features_out = self._code_length()
        last = self.network_.anchors(self.n_layers)
        self.anchors_ = self.inputs_.back(last)
        self.cluster_centers_ = self._centers.cpu().numpy()
        exemplars = self.inputs_.back([self._centers @ one for one in last])
        self.exemplars_ = exemplars[0] if len(exemplars) == 1 else exemplars

    # Using a fitted model

    def inverse_transform(self, codes: Any) -> list[np.ndarray]:
        """Return what each view of rows with these codes should look like, missing views included.

        Parameters
        ----------
        codes : array-like of shape (n, m)
            From `transform`.

        Returns
        -------
        list of ndarray of shape (n, d), one a view
        """
        check_is_fitted(self)
        given = torch.as_tensor(np.asarray(codes, dtype=np.float32)).to(self._centers.device)
        if given.ndim != 2 or given.shape[1] != self._n_features_out:
            raise InputError(
                f"codes has shape {tuple(given.shape)} but needs {self._n_features_out} columns, as transform gives."
            )
        return self.inputs_.back([given @ one for one in self.network_.anchors(self.n_layers)])

    def _codes_and_distances(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        seen = self.inputs_.stream(data, self.inputs_.pieces(data))
        for _, last, distances in fitting.encode(self.network_, seen, self._centers):
            yield last.codes, distances

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "tau": self.tau_,
            "inertia": self.inertia_,
            "history": self.history_,
            "scale": list(self.scaler_.modes_),
            "widths": self.inputs_.widths,
            "beside": self.inputs_.beside is not None,
            "guards": self.inputs_.guard_sizes,
        }
        arrays = module_arrays("network.", self.network_) | module_arrays("inputs.", self.inputs_)
        arrays |= {f"scaler.{name}": array for name, array in self.scaler_.state().items()}
        arrays |= {
            "centers": self.cluster_centers_,
            "labels": self.labels_,
            "exemplar_indices": self.exemplar_indices_,
            "row_weights": self.row_weights_,
            "noise": self.noise_,
            "view_weights": self.view_weights_,
            "view_agreement": self.view_agreement_,
        }
        return values, arrays

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        device = resolve_device(self.device)
        self.seed_, self.tau_, self.inertia_ = values["seed"], values["tau"], values["inertia"]
        self.history_ = values["history"]
        self.scaler_ = Scaler.from_state(values["scale"], below("scaler.", arrays))
        sizes = list(zip(values["widths"], self.view_dims_in_, strict=False))
        with unfilled():
            features: list[ColumnFeatures | LandmarkFeatures] = (
                [ColumnFeatures(d) for _, d in sizes]
                if self._options_in_effect().features == "columns"
                else [LandmarkFeatures(width, d) for width, d in sizes]
            )
            guards = [Guard(size, d) for size, d in zip(values["guards"], self.view_dims_in_, strict=False)]
            beside = SideBySide(values["widths"][-1], self.view_dims_in_) if values["beside"] else None
            self.inputs_ = Inputs(self.scaler_, features, guards, beside)
            self.network_ = self._build()
        load_arrays("inputs.", self.inputs_, arrays)
        load_arrays("network.", self.network_, arrays)
        self.inputs_.to(device), self.network_.to(device)
        self._centers = torch.tensor(arrays["centers"], device=device)
        self.labels_, self.exemplar_indices_ = arrays["labels"], arrays["exemplar_indices"]
        self.row_weights_, self.noise_ = arrays["row_weights"], arrays["noise"].astype(bool)
        self.view_weights_, self.view_agreement_ = arrays["view_weights"], arrays["view_agreement"]
        self._describe()
