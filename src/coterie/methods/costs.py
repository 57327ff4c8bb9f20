"""Clusterers that know what each cluster costs a row: the squared distance to its centre, or minus a logit."""

# n rows, d code features, k clusters

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from torch import Tensor

from coterie.data import Views
from coterie.methods.base import Assignment, Clusterer
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.memberships import log_memberships


class CostClusterer(Clusterer):
    """Base of the estimators that give a row the cluster that costs it least.

    A subclass implements `_over` and sets `tau_`, the sharpness of the memberships.
    """

    tau_: float

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like, views, or path
            Rows to cluster. Methods that take missing views miss one where a row has nothing but NaN in it, or by a
            mask.
        y : ignored

        Returns
        -------
        self
        """
        self._check_params()
        data = self._check_input(X, reset=True)
        self.seed_ = self._run_seed()
        self._settle_clusters(data)
        self._check_data(data)
        self._fit(data)
        return self

    @abstractmethod
    def _check_data(self, data: Views) -> None:
        """Raise an `InputError` where the data do not suit the parameters."""

    @abstractmethod
    def _fit(self, data: Views) -> None:
        """Find the clusters of data that were checked."""

    @abstractmethod
    def _over(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the codes (b, d) of the rows in their order, and what the clusters cost them (b, k)."""

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, d), float32
        """
        return ArrayBuilder.of(codes for codes, _ in self._over(X)).joined()

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row: the one that costs it least.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n,)
        """
        return ArrayBuilder.of(costs.argmin(1) for _, costs in self._over(X)).joined()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows: a softmax of minus `tau_` times what the clusters cost them.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, k), float32
            Rows sum to one.
        """
        return ArrayBuilder.of(log_memberships(costs, self.tau_).exp() for _, costs in self._over(X)).joined()

    def assign(self, X: Any) -> Assignment:
        """Return the cluster of each row and how sure it is, in one pass over the rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        Assignment
            `labels` as `predict` gives them, and `confidence`, the largest membership of `predict_proba`.
        """
        labels, confidence = ArrayBuilder(), ArrayBuilder()
        for _, costs in self._over(X):
            labels.add(costs.argmin(1))
            confidence.add(log_memberships(costs, self.tau_).exp().amax(1))
        return Assignment(labels.joined(), confidence.joined())
