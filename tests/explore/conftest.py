"""A small fitted estimator that keeps the contract of design.md, without training anything."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator


class Nearest(BaseEstimator):
    """Assigns rows to the nearest of given centres; several views are laid side by side."""

    def __init__(self, centres=None, random_state=7, views=None):
        self.centres = centres
        self.random_state = random_state
        self.views = views

    def fit(self, X):
        rows = self._rows(X)
        away = self._away(rows)
        self.labels_ = away.argmin(axis=1)
        self.exemplar_indices_ = away.argmin(axis=0)
        self.exemplars_ = np.asarray(self.centres, dtype=float)
        self.history_ = [
            {"epoch": 1, "phase": "warm-up", "loss": 4.0, "seconds": 1.5},
            {"epoch": 1, "phase": "clustering", "loss": 2.0, "seconds": 2.5, "entropy": 0.5},
        ]
        return self

    def transform(self, X):
        return self._rows(X)

    def predict_proba(self, X):
        weight = np.exp(-self._away(self._rows(X)))
        return weight / weight.sum(axis=1, keepdims=True)

    def _rows(self, X):
        return np.concatenate(X.read(slice(None)), axis=1) if hasattr(X, "read") else np.asarray(X)

    def _away(self, rows):
        return np.linalg.norm(rows[:, None] - np.asarray(self.centres)[None], axis=2)


def blobs(centres, sizes, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    centres = np.asarray(centres, dtype=float)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return centres[labels] + noise * rng.normal(size=(len(labels), centres.shape[1]))


@pytest.fixture
def fitted():
    """Return a function from centres and sizes to a fitted model and its rows."""

    def make(centres, sizes, **options):
        X = blobs(centres, sizes)
        return Nearest(centres, **options).fit(X), X

    return make


@pytest.fixture
def nearest():
    return Nearest
