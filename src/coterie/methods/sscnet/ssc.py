"""`SSC`: exact sparse subspace clustering, for few rows."""

# n rows, d features, r axes, m rows of fit, k clusters

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from coterie.data import Views
from coterie.errors import InputError
from coterie.graph.candidates import spectral_embedding
from coterie.methods.base import Clusterer
from coterie.methods.params import Rule, cluster_count, either, one_of, real, whole
from coterie.methods.sscnet.coding import ERRORS, sparse_code
from coterie.ops.distances import nearest
from coterie.ops.kmeans import kmeans
from coterie.ops.pca import principal_axes
from coterie.store import versions

_AXES_A_CLUSTER = 9
_BATCH = 1024
_LEAST_LENGTH = 1e-12
_LEAST_COHERENCE = 1e-3
_SAME = 1e-6


class SSC(Clusterer):
    r"""Exact sparse subspace clustering.

    Each row, divided by its length, is written as a sparse combination of the other rows and an error,

    .. math:: \min_{z, e} \lVert z \rVert_1 + \lambda_i \lVert e \rVert \quad \text{s.t.} \quad
              x_i = \textstyle\sum_{j \ne i} z_j x_j + e .

    Rows of one low-dimensional subspace choose each other: the graph ``|Z| + |Z|'`` of the codes, each divided by its
    largest entry, is cut by its bottom eigenvectors and k-means. Cost grows with the square of the rows.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many clusters to find; ``"auto"`` asks `coterie.choose_k`.
    views : list or mapping, optional
        Column groups, when one 2-D array holds several views. SSC concatenates views.
    error_weight : float, default=3.0
        How dear an error is: lambda_i is this over the largest coherence of row i with another row,
        ``max_j |x_i x_j|``, so that no unit of measure matters and codes are other than zero for all above 1. Low
        values leave much to the error, high ones write rows without any. In the element-wise form the coherence
        is ``max_j |sign(x_i) x_j|``.
    error : {"column", "element"}, default="column"
        Whether an error costs its length or the sum of its absolute values, which lets single features be wrong.
    n_axes : int, "auto" or None, default="auto"
        Principal axes of the rows that are coded; None means all features. ``"auto"`` takes 9 a cluster, the
        dimension of one face under all lights, where there are more features.
    tol : float, default=0.01
        By what share of itself the objective of each row may be above its minimum.
    max_iter : int, default=1000
        Most steps of the solver.
    max_rows : int, default=5000
        More rows than this are refused, for memory and time grow with their square; `SSCNet` takes them.
    random_state : int, RandomState or None, default=None
        Decides the seeds of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
    affinity_ : sparse matrix of shape (n, n)
        The graph ``|Z| + |Z|'``.
    sparsity_ : float
        Share of zeros in the codes.
    gaps_ : ndarray of shape (n,)
        By what share of itself the objective of each row is above its minimum, at most.
    exemplar_indices_ : ndarray of shape (k,)
        The row with the strongest ties to its own cluster.
    n_clusters_ : int
        How many clusters there are.
    k_choice_ : KChoice or None
        How ``n_clusters="auto"`` came to that number.
    cluster_sizes_ : ndarray of shape (k,)
    history_ : list
        Empty: the rows are solved one block after the other.
    n_iter_ : int
        Steps of the row that took most.
    seed_ : int
    n_features_in_ : int
    view_names_in_ : ndarray of str
    versions_ : dict

    Notes
    -----
    Elhamifar and Vidal, "Sparse subspace clustering" (2013), with the error of SSCNet's Eq. 2. It is what SSCNet
    learns to approximate for many rows.

    A new row is coded by the rows of `fit`; its memberships are the shares of the absolute code in the rows of each
    cluster. A row that was seen in `fit` is its own code, so it keeps its label.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SSC
    >>> rng = np.random.default_rng(0)
    >>> planes = [rng.normal(size=(20, 2)) @ rng.normal(size=(2, 10)) for _ in range(2)]
    >>> model = SSC(2, random_state=0).fit(np.vstack(planes))
    >>> model.cluster_sizes_
    array([20, 20])
    >>> bool(model.predict(-3 * planes[1][:1])[0] == model.labels_[-1])
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": cluster_count(),
        "error_weight": real(0, above=True),
        "error": one_of(*ERRORS),
        "n_axes": either(one_of("auto", None), whole(1)),
        "tol": real(0),
        "max_iter": whole(1),
        "max_rows": whole(2),
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        views: Any = None,
        error_weight: float = 3.0,
        error: str = "column",
        n_axes: int | str | None = "auto",
        tol: float = 0.01,
        max_iter: int = 1000,
        max_rows: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.error_weight = error_weight
        self.error = error
        self.n_axes = n_axes
        self.tol = tol
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.random_state = random_state

    # Fitting

    def _fit(self, data: Views) -> None:
        generator = torch.Generator().manual_seed(self.seed_)
        rows = _unit(_concatenated(data, slice(None)))
        self._axes = self._fit_axes(rows, generator)
        self._rows = self._project(rows)
        codes = self._code_each_by_the_others()
        self.affinity_ = _graph(codes)
        self._embedding = torch.from_numpy(spectral_embedding(self.affinity_, self.n_clusters_)).float()
        centers = kmeans(self._embedding, self.n_clusters_, generator=generator).centers
        self.labels_ = nearest(self._embedding, centers)[0].numpy()
        self.exemplar_indices_ = _best_tied(self.affinity_, self.labels_, self.n_clusters_)
        self.history_: list[dict[str, float]] = []
        self.versions_ = versions()
        self._describe()

    def _check_data(self, data: Views) -> None:
        super()._check_data(data)
        if data.n_rows > self.max_rows:
            raise InputError(
                f"X has {data.n_rows} rows, but SSC compares each with all others and takes at most "
                f"max_rows={self.max_rows}; use SSCNet, whose cost grows with the rows only."
            )

    def _fit_axes(self, rows: Tensor, generator: torch.Generator) -> Tensor | None:
        most = _AXES_A_CLUSTER * self.n_clusters_ if self.n_axes == "auto" else self.n_axes
        if most is None or int(most) >= rows.shape[1]:
            return None
        # Subspaces go through the origin, so the axes do: rows with their mirror images have mean zero.
        return principal_axes(torch.cat([rows, -rows]), int(most), generator=generator)

    def _project(self, rows: Tensor) -> Tensor:
        """Return rows of unit length along the axes, (n, r), again of unit length."""
        return rows if self._axes is None else _unit(rows @ self._axes)

    def _code_each_by_the_others(self) -> Tensor:
        weights = self._error_weights(self._rows, forbid_self=True)
        coded = sparse_code(
            self._rows,
            self._rows.T.contiguous(),
            weights,
            error=self.error,
            tol=self.tol,
            max_iter=self.max_iter,
            forbid_self=True,
        )
        self.n_iter_, self.gaps_ = coded.n_iter, coded.gaps.numpy()
        self.sparsity_ = float((coded.codes == 0).double().mean())
        return coded.codes

    def _error_weights(self, rows: Tensor, forbid_self: bool = False) -> Tensor:
        """Return `error_weight` over the largest coherence of each row with another, (n,)."""
        coherence = (rows if self.error == "column" else rows.sign()) @ self._rows.T
        if forbid_self:
            coherence.fill_diagonal_(0)
        return self.error_weight / coherence.abs().amax(1).clamp(min=_LEAST_COHERENCE)

    def _describe(self) -> None:
        """Set the attributes that follow from others."""
        self._n_features_out = self.n_clusters_
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_)

    # Using a fitted model

    def transform(self, X: Any) -> np.ndarray:
        """Return where rows lie among the eigenvectors of the graph.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, k), float32
            The mean of the embedding of the rows of `fit`, weighted by the absolute code.
        """
        return np.concatenate([(shares @ self._embedding).numpy() for shares in self._shares(X)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share that each cluster has in the absolute code of rows over the rows of `fit`.

        A row that is like none of them, so that its code is zero, is of the cluster of the nearest.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, k), float32
            Rows sum to one.
        """
        clusters = torch.nn.functional.one_hot(torch.from_numpy(self._labels()), self.n_clusters_).float()
        return np.concatenate([(shares @ clusters).numpy() for shares in self._shares(X)])

    def _labels(self) -> np.ndarray:
        check_is_fitted(self)
        return self.labels_

    def _shares(self, X: Any) -> Iterator[Tensor]:
        """Yield absolute codes over the rows of `fit` that sum to one, (b, m)."""
        check_is_fitted(self)
        data = self._check_input(X, reset=False)
        for part in data.chunks(_BATCH):
            codes = self._code_new(self._project(_unit(_concatenated(data, part))))
            yield codes / codes.sum(1, keepdim=True)

    def _code_new(self, rows: Tensor) -> Tensor:
        """Return the absolute codes of rows over those of `fit`, none of them zero, (b, m)."""
        codes = rows.new_zeros(len(rows), len(self._rows))
        likeness, twin = (rows @ self._rows.T).abs().max(1)
        known = likeness >= 1 - _SAME
        new = rows[~known]
        codes[~known] = sparse_code(
            new,
            self._rows.T.contiguous(),
            self._error_weights(new),
            error=self.error,
            tol=self.tol,
            max_iter=self.max_iter,
        ).codes.abs()
        silent = codes.sum(1) == 0
        twin[~known] = nearest(new, self._rows)[0]
        codes[silent, twin[silent]] = 1
        return codes

    # Saving

    def _pack(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        values = {
            "seed": self.seed_,
            "history": self.history_,
            "n_iter": self.n_iter_,
            "sparsity": self.sparsity_,
        }
        arrays = {
            "labels": self.labels_,
            "gaps": self.gaps_,
            "exemplar_indices": self.exemplar_indices_,
            "rows": self._rows.numpy(),
            "embedding": self._embedding.numpy(),
            "affinity.data": self.affinity_.data,
            "affinity.indices": self.affinity_.indices,
            "affinity.indptr": self.affinity_.indptr,
        }
        return values, arrays if self._axes is None else arrays | {"axes": self._axes.numpy()}

    def _unpack(self, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.seed_, self.history_ = values["seed"], values["history"]
        self.n_iter_, self.sparsity_ = values["n_iter"], values["sparsity"]
        self.labels_, self.gaps_ = arrays["labels"], arrays["gaps"]
        self.exemplar_indices_ = arrays["exemplar_indices"]
        self._rows, self._embedding = torch.from_numpy(arrays["rows"]), torch.from_numpy(arrays["embedding"])
        self._axes = torch.from_numpy(arrays["axes"]) if "axes" in arrays else None
        parts = [arrays[f"affinity.{name}"] for name in ("data", "indices", "indptr")]
        self.affinity_ = sparse.csr_matrix(tuple(parts), shape=(len(self.labels_), len(self.labels_)))
        self._describe()


def _concatenated(data: Views, rows: Any) -> Tensor:
    return torch.from_numpy(np.concatenate(data.read(rows), axis=1))


def _unit(rows: Tensor) -> Tensor:
    """Return rows divided by their length; rows of zeros stay."""
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / torch.where(lengths > _LEAST_LENGTH, lengths, 1.0)


def _graph(codes: Tensor) -> sparse.csr_matrix:
    """Return |Z| + |Z|' of the codes, each divided by its largest entry."""
    sizes = sparse.csr_matrix(codes.abs().double().numpy())
    largest = sizes.max(axis=1).toarray().ravel()
    scaled = sparse.diags(1 / np.where(largest > 0, largest, 1)) @ sizes
    return sparse.csr_matrix(scaled + scaled.T)


def _best_tied(graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return for each cluster its row with the strongest ties inside, (k,)."""
    inside = graph @ np.eye(n_clusters)[labels]
    inside[labels[:, None] != np.arange(n_clusters)] = -np.inf
    return inside.argmax(axis=0)
