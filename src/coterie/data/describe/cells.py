"""Cells of an AnnData object as rows: a representation that it holds, or its matrix prepared as scanpy's users do."""

# n cells, g genes, r axes

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from coterie.data.describe.base import Description
from coterie.data.readers.cells import cell_labels, is_counts, keys_of, matrix_of
from coterie.data.sources import CsrRows, DenseRows, Source
from coterie.data.subsets import some_rows, take_columns
from coterie.data.views import Views
from coterie.errors import InputError, counted, listed

_USUAL = "X_pca"
_FIT_ROWS = 20_000
_CHUNK_VALUES = 4 * 10**6


class CellRows(Description):
    r"""Cells as rows of numbers: their principal components where they are there, or the matrix prepared.

    Without `use_rep` and `layer` these are ``obsm["X_pca"]``, where a cell has it. Otherwise the matrix is looked at.
    Raw counts are divided by the total of their cell, multiplied by the median total, and become their log1p,

    .. math:: x_{ij} = \log\Big(1 + \frac{m \, c_{ij}}{\sum_j c_{ij}}\Big)

    where m is the median over cells. Counts, and sparse matrices, of more than `n_axes` genes are then projected
    to that many principal axes. Other dense matrices are taken as they are. Genes that ``var["highly_variable"]``
    marks are taken alone, as scanpy does.

    Parameters
    ----------
    use_rep : str, optional
        A key of ``obsm``, or ``"X"``.
    layer : str, optional
        A key of ``layers`` that is taken instead of ``X``.
    n_axes : int, default=50

    Attributes
    ----------
    rep_ : str or None
        The key of ``obsm`` that is taken; None for a matrix.
    counts_ : bool
        Whether the matrix holds raw counts.
    columns_ : list of str
        The genes, or the columns of the representation.

    Examples
    --------
    >>> import anndata
    >>> counts = np.random.default_rng(0).poisson(1.0, (40, 60)).astype(np.float32)
    >>> cells = CellRows(n_axes=5).fit(anndata.AnnData(counts))
    >>> cells.transform(anndata.AnnData(counts)).shape
    (40, 5)
    >>> cells.sentence
    'raw counts were scaled to the median total of a cell, log1p taken, and 60 genes projected to 5 principal axes'
    """

    _values: ClassVar[tuple[str, ...]] = ("rep_", "counts_", "columns_")
    _arrays: ClassVar[tuple[str, ...]] = ("total_", "mean_", "axes_")

    def __init__(self, use_rep: str | None = None, *, layer: str | None = None, n_axes: int = 50) -> None:
        self.use_rep = use_rep
        self.layer = layer
        self.n_axes = n_axes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the representation, or learn how the matrix is prepared."""
        self.rep_ = self._choose_representation(X)
        self.counts_, self.total_, self.mean_ = False, np.zeros(0), np.zeros(0, dtype=np.float32)
        self.axes_ = np.zeros((0, 0), dtype=np.float32)
        if self.rep_ is not None:
            width = np.shape(_representation(X, self.rep_))[1]
            self.columns_ = [f"{self.rep_}{j}" for j in range(width)]
            return self
        genes = np.array([str(name) for name in X.var_names], dtype=object)
        marked = X.var["highly_variable"].to_numpy() if "highly_variable" in X.var else None
        if marked is not None and marked.dtype == bool and marked.any():
            genes = genes[marked]
        self.columns_ = genes.tolist()
        source = self._matrix(X)
        self.counts_ = is_counts(source)
        sample = some_rows(source.shape[0], _FIT_ROWS, 0)
        if self.counts_:
            totals = np.concatenate([_totals(part) for part in _parts(source, sample)])
            self.total_ = np.array([np.median(totals[totals > 0]) if (totals > 0).any() else 1.0])
        if (self.counts_ or isinstance(source, CsrRows)) and len(genes) > self.n_axes:
            self._fit_axes(source, sample)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return cells as rows, (n, r); new cells need the genes of `fit`, in any order."""
        check_is_fitted(self)
        if self.rep_ is not None:
            table = np.asarray(_representation(X, self.rep_), dtype=np.float32)
            if table.shape[1] != len(self.columns_):
                raise InputError(
                    f"obsm[{self.rep_!r}] has {counted(table.shape[1], 'column')}, but that of the fit had "
                    f"{len(self.columns_)}: project new cells onto the axes of the fit."
                )
            return table
        source = self._matrix(X)
        parts = [self._project(part) for part in _parts(source, np.arange(source.shape[0]))]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.columns_)), dtype=np.float32)

    def views(self, X: Any, where: str = "The AnnData object") -> Views:
        """Return cells as one view."""
        table = DenseRows(self.transform(X))
        return Views(
            [table], labels=cell_labels(X, where), feature_names=[self.get_feature_names_out().tolist()]
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the genes, or of the axes."""
        n_axes = self.axes_.shape[1]
        return np.array([f"PC{j + 1}" for j in range(n_axes)] if n_axes else self.columns_, dtype=object)

    @property
    def settings(self) -> dict[str, str]:
        """Axes keep their variances and log counts their unit: small ones are mostly noise, and never blown up."""
        return {"scale": "none"} if self.rep_ is not None or self.counts_ or self.axes_.size else {}

    @property
    def sentence(self) -> str:
        """What was done to the cells."""
        if self.rep_ is not None:
            return f"obsm[{self.rep_!r}] was taken, {counted(len(self.columns_), 'column')}"
        genes = counted(len(self.columns_), "gene")
        projected = f"{genes} projected to {self.axes_.shape[1]} principal axes"
        scaled = "raw counts were scaled to the median total of a cell"
        if self.counts_:
            return (
                f"{scaled}, log1p taken, and {projected}" if self.axes_.size else f"{scaled}, and log1p taken"
            )
        return projected if self.axes_.size else f"{self.layer or 'X'} was taken as it is, {genes}"

    def _choose_representation(self, X: Any) -> str | None:
        if self.use_rep is not None and self.layer is not None:
            raise InputError(
                f"use_rep={self.use_rep!r} and layer={self.layer!r} cannot both be taken: give one of them."
            )
        if self.use_rep is None and self.layer is None:
            return _USUAL if _USUAL in X.obsm else None
        if self.use_rep is not None and self.use_rep != "X":
            _representation(X, self.use_rep)
            return self.use_rep
        return None

    def _matrix(self, X: Any) -> Source:
        """Return the matrix of cells with the genes of the fit, in its order."""
        table = matrix_of(X, self.layer)
        genes = [str(name) for name in X.var_names]
        if genes == self.columns_:
            return table
        place = {name: j for j, name in enumerate(genes)}
        missing = [name for name in self.columns_ if name not in place]
        if missing:
            raise InputError(
                f"The cells lack {counted(len(missing), 'gene')} of the fit ({listed(missing[:5])}): give every "
                "gene that the fit had; in any order, others are ignored."
            )
        return take_columns(table, np.array([place[name] for name in self.columns_]))

    def _fit_axes(self, source: Source, rows: np.ndarray) -> None:
        parts = [self._normalised(part) for part in _parts(source, rows)]
        table = sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.concatenate(parts)
        size = min(self.n_axes, min(table.shape) - 1)
        if size < 1:
            return
        axes = PCA(size, svd_solver="arpack", random_state=0).fit(table)
        self.mean_, self.axes_ = (
            axes.mean_.astype(np.float32),
            np.ascontiguousarray(axes.components_.T, np.float32),
        )

    def _normalised(self, part: Any) -> Any:
        if not self.counts_:
            return part
        totals = _totals(part)
        factor = (self.total_[0] / np.where(totals > 0, totals, 1.0)).astype(np.float32)
        if sparse.issparse(part):
            scaled = sparse.diags(factor) @ part
            scaled.data = np.log1p(scaled.data)
            return scaled.tocsr()
        return np.log1p(part * factor[:, None])

    def _project(self, part: Any) -> np.ndarray:
        rows = self._normalised(part)
        if self.axes_.size:
            # A sparse product is taken row by row, so that a cell alone gets the bits that it gets among others.
            return np.asarray(
                sparse.csr_matrix(rows) @ self.axes_ - self.mean_ @ self.axes_, dtype=np.float32
            )
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float32)


def _representation(X: Any, key: str) -> Any:
    if key not in X.obsm:
        raise InputError(f"There is no obsm[{key!r}]: {keys_of(X.obsm, 'obsm')}.")
    return X.obsm[key]


def _parts(source: Source, rows: np.ndarray) -> Iterator[Any]:
    """Yield blocks of rows, sparse where the source is."""
    step = max(1, _CHUNK_VALUES // max(1, source.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        yield source.matrix[part] if isinstance(source, CsrRows) else source.read(part)


def _totals(part: Any) -> np.ndarray:
    return np.asarray(part.sum(axis=1), dtype=np.float64).ravel()
