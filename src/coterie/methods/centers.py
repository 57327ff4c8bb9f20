"""Clusterers whose clusters are centres in the space of a code."""

# n rows, d code features, k clusters

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from coterie.methods.base import Assignment, Clusterer
from coterie.ops.memberships import log_memberships


class CenterClusterer(Clusterer):
    """Base of the estimators that label a row by the centre nearest to its code.

    A subclass implements `_over` and sets `tau_`, the sharpness of the memberships.
    """

    tau_: float

    @abstractmethod
    def _over(self, X: Any) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the codes of the rows in their order, and their squared distances to the centres."""

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of rows.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, d), float32
        """
        return np.concatenate([codes.cpu().numpy() for codes, _ in self._over(X)])

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row: the centre nearest to its code.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.concatenate([distances.argmin(1).cpu().numpy() for _, distances in self._over(X)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the memberships of rows: a softmax of minus `tau_` times the squared distances to the centres.

        Parameters
        ----------
        X : array-like, views, or path

        Returns
        -------
        ndarray of shape (n, k), float32
            Rows sum to one.
        """
        return np.concatenate(
            [log_memberships(distances, self.tau_).exp().cpu().numpy() for _, distances in self._over(X)]
        )

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
        labels, confidence = [], []
        for _, distances in self._over(X):
            labels.append(distances.argmin(1).cpu().numpy())
            confidence.append(log_memberships(distances, self.tau_).exp().amax(1).cpu().numpy())
        return Assignment(np.concatenate(labels), np.concatenate(confidence))
