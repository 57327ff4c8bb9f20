"""How sure a row's cluster is: how often it stays there when the graph is resampled."""

# n rows, k clusters, B resamples

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

from coterie.graph.matching import matched
from coterie.graph.quality import row_ties
from coterie.graph.resampling import resampled_partitions

_KNOTS = 64
_LESS = 1e-5


@dataclass(frozen=True)
class Calibration:
    r"""Turns the share of a row's edges that lie in its cluster into a probability.

    .. math:: c = s_a \, g(q)

    where q is the share of the row's edge weight in its cluster a, s_a the stability of the cluster (the mean
    agreement of its rows over resampled graphs) and g a monotone map, fitted so that c matches the agreement.

    Attributes
    ----------
    shares, values : ndarray of shape (knots,)
        The map g.
    stability : ndarray of shape (k,)
    """

    shares: np.ndarray
    values: np.ndarray
    stability: np.ndarray

    def confidence(self, votes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return how sure the labels (n,) of rows are, from 1 / k to 1.

        Parameters
        ----------
        votes : ndarray of shape (n, k)
            Edge weight of each row to each cluster.
        labels : ndarray of shape (n,)
        """
        share = share_of_own(votes, labels)
        sure = self.stability[labels] * np.interp(share, self.shares, self.values)
        return np.clip(sure, min(1.0, (1 + _LESS) / votes.shape[1]), 1.0)


def share_of_own(votes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the share of each row's votes (n, k) that its label has; 1 / k where there are none.

    Examples
    --------
    >>> share_of_own(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([0, 1]))
    array([0.75, 0.5 ])
    """
    totals = votes.sum(axis=1)
    own = votes[np.arange(len(labels)), labels]
    return np.where(totals > 0, own / np.where(totals > 0, totals, 1.0), 1 / votes.shape[1])


def memberships(votes: np.ndarray, labels: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return memberships (n, k): a row's confidence in its own cluster, the rest by its votes for the others.

    Where others have no votes, the rest is shared evenly; and as evenly as it takes for none to come before the own
    cluster.

    Examples
    --------
    >>> memberships(np.array([[6.0, 1.0, 3.0]]), np.array([0]), np.array([0.8]))
    array([[0.8 , 0.05, 0.15]])
    """
    rows, k = np.arange(len(labels)), votes.shape[1]
    if k == 1:
        return np.ones((len(labels), 1))
    confidence = np.maximum(confidence, (1 + _LESS) / k)
    others = votes.astype(np.float64)
    others[rows, labels] = 0.0
    even = np.full_like(others, 1 / (k - 1))
    even[rows, labels] = 0.0
    totals = others.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, others / np.where(totals > 0, totals, 1.0), even)
    # Nobody else may come before the row's own cluster: shares become as even as that takes.
    rest, most = 1 - confidence, shares.max(axis=1)
    beyond = rest * most - (1 - _LESS) * confidence
    slack = rest * (most - 1 / (k - 1))
    mix = np.clip(np.where(slack > 0, beyond / np.where(slack > 0, slack, 1.0), 0.0), 0.0, 1.0)[:, None]
    found = rest[:, None] * ((1 - mix) * shares + mix * even)
    found[rows, labels] = confidence
    return found


def resampled_agreement(labels: np.ndarray, resamples: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """Return how often each row stays in its cluster, (n,), over partitions (n,) of resampled graphs.

    Clusters of a resample are matched to the labels by the rows they share.
    """
    stays = [matched(labels, again, n_clusters) == labels for again in resamples]
    return np.mean(stays, axis=0)


def calibrate(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int, *, n_resamples: int, seed: int
) -> Calibration:
    """Fit the map from a row's votes to its confidence on resampled graphs; without any, it is the identity.

    Examples
    --------
    >>> graph = sparse.csr_matrix(np.kron(np.eye(2), np.ones((5, 5))))
    >>> calibrate(graph, np.repeat([0, 1], 5), 2, n_resamples=3, seed=0).stability
    array([1., 1.])
    """
    if n_clusters == 1 or n_resamples == 0 or n_clusters == len(labels):
        return Calibration(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.ones(n_clusters))
    resamples = resampled_partitions(graph, n_clusters, n_resamples=n_resamples, seed=seed)
    agreement = resampled_agreement(labels, resamples, n_clusters)
    sizes = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
    stability = np.bincount(labels, agreement, n_clusters) / sizes
    share = share_of_own(row_ties(graph, labels, n_clusters), labels)
    relative = agreement / np.maximum(stability[labels], 1e-9)
    knots = np.linspace(0, 1, _KNOTS)
    values = IsotonicRegression(y_min=0.0, out_of_bounds="clip").fit(share, relative).predict(knots)
    return Calibration(knots, values, stability)
