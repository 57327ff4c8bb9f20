"""MOFA: factors that several views share."""

# n rows, v views, k clusters

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence

import numpy as np

from benchmarks.peers.graphs import clustered


def mofa(
    tables: Sequence[np.ndarray], mask: np.ndarray, k: int, seed: int, *, factors: int, most_columns: int
) -> np.ndarray:
    """Return k-means of MOFA's factors (Argelaguet and others 2018) of the most variable columns."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mofapy2.run.entry_point import entry_point

        given = []
        for v, table in enumerate(tables):
            columns = np.sort(np.argsort(-table.var(axis=0), kind="stable")[:most_columns])
            shown = table[:, columns].astype(np.float64)
            shown = shown[:, shown.std(axis=0) > 0]
            shown[~mask[:, v]] = np.nan
            given.append([shown])
        shape = len(tables[0]) - 1, sum(some[0].shape[1] for some in given)
        run = entry_point()
        run.set_data_options(scale_views=True)
        run.set_data_matrix(given, likelihoods=["gaussian"] * len(given))
        run.set_model_options(factors=min(factors, *shape))
        run.set_train_options(iter=1000, convergence_mode="fast", seed=seed, quiet=True)
        run.build()
        run.run()
        found = run.model.nodes["Z"].getExpectation()
    return clustered(np.asarray(found), k, seed)
