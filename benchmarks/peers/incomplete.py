"""imml's methods for several views of which some are missing; their defaults."""

# n rows, v views

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from imml.cluster import DAIMC, NEMO, SIMCADC


def simcadc(tables: Sequence[np.ndarray], mask: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the clusters of SIMC-ADC (He, Zhang and Wei 2023)."""
    return _labels(SIMCADC(n_clusters=k, random_state=seed), tables, mask)


def nemo(tables: Sequence[np.ndarray], mask: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the clusters of NEMO (Rappoport and Shamir 2019)."""
    return _labels(NEMO(n_clusters=k, random_state=seed), tables, mask)


def daimc(tables: Sequence[np.ndarray], mask: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the clusters of DAIMC (Hu and Chen 2018)."""
    return _labels(DAIMC(n_clusters=k, random_state=seed), tables, mask)


def _labels(model: Any, tables: Sequence[np.ndarray], mask: np.ndarray) -> np.ndarray:
    given = [np.where(mask[:, v : v + 1], table, np.nan).astype(np.float64) for v, table in enumerate(tables)]
    return model.fit_predict(given)
